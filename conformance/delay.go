package conformance

import (
	"context"
	"time"

	"github.com/sqloutbox/sqloutbox/outbox"
	"github.com/sqloutbox/sqloutbox/relay"
)

func delayRules() []rule {
	rules := inEach("a delayed event is not early and holds nobody up", delayed)
	rules = append(rules, inEach("a delayed event comes when it is due, though the polls are far apart", delayedComes)...)
	return append(rules, inEach("a retry comes when it is due, though the polls are far apart", retryComes)...)
}

func delayed(t *env, order relay.Order) {
	t.write(outbox.Event{ID: "later", Topic: "t", Delay: time.Hour}, outbox.Event{ID: "now", Topic: "t"}, outbox.Event{ID: "latest", Topic: "t", Delay: 2 * time.Hour})
	p := &receiver{}
	r := t.relay(p, quick(order))
	t.drain(r)
	equalIDs(t, "handed over", p.ids(), []string{"now"})
	if s, err := t.o.Stats(t.ctx()); err != nil || s.Scheduled != 2 || s.Pending != 0 {
		t.Errorf("stats %+v, %v: want 2 scheduled", s, err)
	}
	t.exec(`UPDATE {events} SET due_ms = 1 WHERE id = ?`, "later")
	t.drain(r)
	equalIDs(t, "handed over", p.ids(), []string{"now", "later"})
}

// slowPolls are options for a relay that would be far too late if it waited for its next poll.
func slowPolls(order relay.Order) *relay.Options {
	opts := quick(order)
	opts.Poll, opts.PollMax = time.Hour, time.Hour
	return opts
}

func delayedComes(t *env, order relay.Order) {
	const delay = 150 * time.Millisecond
	before := t.number(readClock)
	t.write(outbox.Event{ID: "later", Topic: "t", Delay: delay})
	var at int64
	came := make(chan struct{}, 1)
	p := &receiver{answer: func(context.Context, relay.Message) error { came <- struct{}{}; return nil }}
	stop := t.start(t.otherRelay(p, slowPolls(order)))
	await(t, "it comes", came)
	at = t.number(readClock)
	t.mustStop(stop)
	if waited := at - before; waited < delay.Milliseconds() {
		t.Errorf("it came after %d ms, want at least %v", waited, delay)
	}
}

func retryComes(t *env, order relay.Order) {
	const wait = 150 * time.Millisecond
	t.write(events("e", 1)...)
	times := make(chan int64, 4)
	failed := false
	p := &receiver{answer: func(_ context.Context, m relay.Message) error {
		times <- t.number(readClock)
		if !failed {
			failed = true
			return relay.RetryAfter(wait, errNo)
		}
		return nil
	}}
	stop := t.start(t.otherRelay(p, slowPolls(order)))
	first, second := await(t, "the first try", times), await(t, "the second try", times)
	t.mustStop(stop)
	if got := second - first; got < wait.Milliseconds() {
		t.Errorf("the second try came after %d ms, want at least %v", got, wait)
	}
}
