package conformance

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/sqloutbox/sqloutbox/outbox"
	"github.com/sqloutbox/sqloutbox/relay"
)

func attemptRules() []rule {
	var rules []rule
	for _, both := range [][]rule{
		inEach("a failing event is dead after exactly MaxAttempts", attemptsMax),
		inEach("a failing event is not given up before DeadLetterAfter", attemptsAge),
		inEach("Permanent is dead at once", attemptsPermanent),
		inEach("RetryAfter waits that long", attemptsRetryAfter),
		inEach("an unavailable destination charges nobody", attemptsUnavailable),
		inEach("the backoff grows, and is in the row", attemptsBackoff),
		inEach("a failure is recorded whatever its text is", attemptsText),
	} {
		rules = append(rules, both...)
	}
	return rules
}

// always answers every message alike.
func alwaysAnswer(err error) *receiver {
	return &receiver{answer: func(context.Context, relay.Message) error { return err }}
}

// bury writes events and makes dead letters of them.
func (t *env) bury(list ...outbox.Event) []string {
	t.Helper()
	ids := t.write(list...)
	t.drain(t.relay(alwaysAnswer(relay.Permanent(errNo)), quick(relay.OrderTotal)))
	return ids
}

func attemptsMax(t *env, order relay.Order) {
	ids := t.write(events("e", 2)...)
	p := &receiver{answer: func(_ context.Context, m relay.Message) error {
		if m.ID == ids[0] {
			return relay.RetryAfter(0, errNo)
		}
		return nil
	}}
	opts := quick(order)
	opts.MaxAttempts = 4
	t.drain(t.relay(p, opts))
	got := p.of(ids[0])
	if len(got) != 4 {
		t.Errorf("it was handed over %d times, want 4", len(got))
	}
	for i, m := range got {
		if m.Attempt != i+1 {
			t.Errorf("hand-over %d says attempt %d", i+1, m.Attempt)
		}
	}
	if len(p.of(ids[1])) != 1 {
		t.Error("what is behind it did not flow")
	}
	x := t.record(ids[0])
	if x.state != dead || x.attempts != 4 || x.total != 4 || !strings.Contains(x.lastError, errNo.Error()) {
		t.Errorf("the dead letter:%s", describe([]record{x}))
	}
}

func attemptsAge(t *env, order relay.Order) {
	id := t.write(events("e", 1)...)[0]
	p := alwaysAnswer(errNo)
	opts := quick(order)
	opts.MaxAttempts, opts.DeadLetterAfter = 2, time.Hour
	r := t.relay(p, opts)
	for range 5 {
		t.makeDue()
		t.once(r)
	}
	if x := t.record(id); x.state != tried(order) || x.attempts != 5 {
		t.Errorf("an hour has not passed:%s", describe([]record{x}))
	}
	t.exec(`UPDATE {events} SET first_failed_ms = first_failed_ms - 3600000`)
	t.makeDue()
	t.once(r)
	if x := t.record(id); x.state != dead || x.attempts != 6 {
		t.Errorf("an hour has passed:%s", describe([]record{x}))
	}
}

func attemptsPermanent(t *env, order relay.Order) {
	ids := t.write(events("e", 3)...)
	p := alwaysAnswer(fmt.Errorf("wrapped: %w", relay.Permanent(errNo)))
	t.drain(t.relay(p, quick(order)))
	sameIDs(t, "handed over", p.ids(), ids)
	for _, x := range t.records() {
		if x.state != dead || x.attempts != 1 {
			t.Errorf("want a dead letter after one attempt:%s", describe([]record{x}))
		}
	}
}

func attemptsRetryAfter(t *env, order relay.Order) {
	id := t.write(events("e", 1)...)[0]
	before := t.number(readClock)
	t.once(t.relay(alwaysAnswer(relay.RetryAfter(time.Hour, errNo)), quick(order)))
	after := t.number(readClock)
	x, hour := t.record(id), time.Hour.Milliseconds()
	if x.due < before+hour || x.due > after+hour {
		t.Errorf("it is due at %d, want between %d and %d", x.due, before+hour, after+hour)
	}
	if x.attempts != 1 || x.firstFailed < before || x.firstFailed > after {
		t.Errorf("first failed %d (between %d and %d):%s", x.firstFailed, before, after, describe([]record{x}))
	}
}

func attemptsUnavailable(t *env, order relay.Order) {
	ids := t.write(events("e", 5)...)
	down := true
	p := &receiver{}
	p.answer = func(context.Context, relay.Message) error {
		if down {
			return relay.Unavailable(errNo)
		}
		return nil
	}
	opts := quick(order)
	opts.MaxAttempts = 2
	r := t.relay(p, opts)
	for range 6 {
		if _, err := r.Drain(t.ctx()); !errors.Is(err, errNo) {
			t.Errorf("drain: got %v, want the publisher's error", err)
		}
	}
	for _, x := range t.records() {
		if x.state != pending || x.attempts != 0 || x.total != 0 {
			t.Errorf("an event was charged:%s", describe([]record{x}))
		}
	}
	down = false
	p.got = nil
	t.makeDue()
	t.drain(r)
	sameIDs(t, "handed over when it is back", p.ids(), ids)
	for _, m := range p.messages() {
		if m.Attempt != 1 {
			t.Errorf("attempt %d, want 1", m.Attempt)
		}
	}
}

func attemptsBackoff(t *env, order relay.Order) {
	id := t.write(events("e", 1)...)[0]
	opts := quick(order)
	opts.Backoff, opts.BackoffMax, opts.MaxAttempts = time.Minute, 10*time.Minute, 100
	r := t.relay(alwaysAnswer(errNo), opts)
	for i, want := range []time.Duration{1, 2, 4, 8, 10, 10, 10} {
		t.makeDue()
		now := t.number(readClock)
		t.once(r)
		wait, want := time.Duration(t.record(id).due-now)*time.Millisecond, want*time.Minute
		if wait < want*3/4 || wait > want*5/4+10*time.Second {
			t.Errorf("after failure %d it waits %v, want %v and a quarter to either side", i+1, wait, want)
		}
	}
}

// hostile is an error whose text can't be had.
type hostile struct{}

func (hostile) Error() string { panic("no text") }

func attemptsText(t *env, order relay.Order) {
	for name, err := range map[string]error{
		"long":        errors.New(strings.Repeat("long ", 200_000)),
		"NUL":         errors.New("a\x00b"),
		"broken":      errors.New("\xc3\x28 \xff"),
		"cut at rune": errors.New("x" + strings.Repeat("é", 5000)),
		"empty":       errors.New(""),
		"four bytes":  errors.New(strings.Repeat("\U0001F600", 3000)),
		"hostile":     hostile{},
	} {
		id := t.write(outbox.Event{Topic: "t"})[0]
		t.once(t.relay(alwaysAnswer(err), &relay.Options{Order: order}))
		if x := t.record(id); x.attempts != 1 || x.state != tried(order) || x.claimedBy != "" {
			t.Errorf("%s: the failure was not recorded:%s", name, describe([]record{x}))
		}
		t.exec(`UPDATE {events} SET due_ms = {clock} + 3600000`)
		t.space.checkTables(t.TB)
		t.exec(`DELETE FROM {events}`)
	}
}
