package conformance

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sqloutbox/sqloutbox/outbox"
	"github.com/sqloutbox/sqloutbox/relay"
)

func deadLetterRules() []rule {
	return []rule{
		{"dead letters show all that is known", deadShown},
		{"dead letters are listed oldest first, page by page", deadPages},
		{"dead letters are found by topic and time", deadFilters},
		{"a requeued event is published before anything newer that is pending", deadInPlace},
		{"a requeued event starts its attempts anew and says that it was requeued", deadRequeued},
		{"only dead letters are requeued or discarded", deadOnly},
		{"an id that no event can have is refused, and nothing is requeued or discarded", deadImpossible},
		{"a discarded event is gone for good", deadDiscarded},
		{"dead letters are requeued and discarded by what they match", deadMatching},
		{"ten operators requeue the same events, and each is published once", deadOperators},
	}
}

func (t *env) deadIDs(q outbox.DeadLetterQuery) []string {
	t.Helper()
	list, err := t.o.DeadLetters(t.ctx(), q)
	if err != nil {
		t.Fatalf("dead letters: %v", err)
	}
	var ids []string
	for _, d := range list {
		ids = append(ids, d.ID)
	}
	return ids
}

func deadShown(t *env) {
	e := outbox.Event{ID: "x", Topic: "t", Key: "k", Payload: []byte{0, 255}, Headers: map[string]string{"a": "b"}}
	before := t.number(readClock)
	t.bury(e)
	after := t.number(readClock)
	list, err := t.o.DeadLetters(t.ctx(), outbox.DeadLetterQuery{})
	if err != nil || len(list) != 1 {
		t.Fatal(len(list), err)
	}
	d := list[0]
	if d.ID != e.ID || d.Topic != e.Topic || d.Key != e.Key || string(d.Payload) != string(e.Payload) || d.Headers["a"] != "b" ||
		d.Attempts != 1 || d.TotalAttempts != 1 || d.LastError == "" || d.Seq != t.record("x").seq {
		t.Errorf("%+v", d)
	}
	for name, at := range map[string]time.Time{"created": d.CreatedAt, "first failed": d.FirstFailedAt, "dead": d.DeadAt} {
		if at.UnixMilli() < before || at.UnixMilli() > after {
			t.Errorf("%s at %d, want between %d and %d", name, at.UnixMilli(), before, after)
		}
	}
}

func deadPages(t *env) {
	want := t.bury(events("e", 25)...)
	var got []string
	q := outbox.DeadLetterQuery{Limit: 10}
	for _, size := range []int{10, 10, 5, 0} {
		page, err := t.o.DeadLetters(t.ctx(), q)
		if err != nil || len(page) != size {
			t.Fatalf("a page of %d, %v; want %d", len(page), err, size)
		}
		for _, d := range page {
			got = append(got, d.ID)
			q.After = d.Seq
		}
	}
	equalIDs(t, "all pages", got, want)
}

func deadFilters(t *env) {
	t.bury(outbox.Event{ID: "a1", Topic: "a"}, outbox.Event{ID: "b1", Topic: "b"}, outbox.Event{ID: "a2", Topic: "a"})
	for id, ms := range map[string]int64{"a1": 1000, "b1": 2000, "a2": 3000} {
		t.exec(`UPDATE {events} SET settled_ms = ?, due_ms = ? WHERE id = ?`, ms, ms, id)
	}
	at := time.UnixMilli
	equalIDs(t, "topic a", t.deadIDs(outbox.DeadLetterQuery{Topic: "a"}), []string{"a1", "a2"})
	equalIDs(t, "since 2000", t.deadIDs(outbox.DeadLetterQuery{Since: at(2000)}), []string{"b1", "a2"})
	equalIDs(t, "until 2000", t.deadIDs(outbox.DeadLetterQuery{Until: at(2000)}), []string{"a1"})
	equalIDs(t, "all three", t.deadIDs(outbox.DeadLetterQuery{Topic: "a", Since: at(1000), Until: at(3000)}), []string{"a1"})
	equalIDs(t, "none", t.deadIDs(outbox.DeadLetterQuery{Topic: "c"}), nil)
}

func deadInPlace(t *env) {
	first := t.bury(outbox.Event{ID: "first", Topic: "t"})
	t.write(events("newer", 3)...)
	if n, err := t.o.Requeue(t.ctx(), first...); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	p := &receiver{}
	t.drain(t.relay(p, quick(relay.OrderTotal)))
	equalIDs(t, "handed over", p.ids(), []string{"first", "newer-0", "newer-1", "newer-2"})
}

func deadRequeued(t *env) {
	id := t.write(events("e", 1)...)[0]
	opts := quick(relay.OrderTotal)
	opts.MaxAttempts = 3
	t.drain(t.relay(alwaysAnswer(relay.RetryAfter(0, errNo)), opts))
	if n, err := t.o.Requeue(t.ctx(), id); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	if x := t.record(id); x.state != pending || x.attempts != 0 || x.total != 3 || x.firstFailed != 0 {
		t.Errorf("requeued:%s", describe([]record{x}))
	}
	p := alwaysAnswer(relay.Permanent(errNo))
	t.drain(t.relay(p, opts))
	if m := p.of(id); len(m) != 1 || m[0].Attempt != 1 || !m[0].Requeued {
		t.Errorf("handed over %+v", m)
	}
	if x := t.record(id); x.attempts != 1 || x.total != 4 {
		t.Errorf("dead again:%s", describe([]record{x}))
	}
}

func deadOnly(t *env) {
	t.bury(outbox.Event{ID: "dead", Topic: "t"})
	t.write(outbox.Event{ID: "pending", Topic: "t"}, outbox.Event{ID: "scheduled", Topic: "t", Delay: time.Hour})
	others := []string{"pending", "scheduled", "unknown"}
	for name, change := range map[string]func(context.Context, ...string) (int, error){"requeue": t.o.Requeue, "discard": t.o.Discard} {
		if n, err := change(t.ctx(), others...); n != 0 || err != nil {
			t.Errorf("%s: %d, %v", name, n, err)
		}
	}
	if n := len(t.records()); n != 3 {
		t.Errorf("%d events, want 3", n)
	}
	if n, err := t.o.Requeue(t.ctx(), append(others, "dead", "dead")...); n != 1 || err != nil {
		t.Errorf("requeue: %d, %v; want 1", n, err)
	}
	if n, err := t.o.Requeue(t.ctx(), "dead"); n != 0 || err != nil {
		t.Errorf("requeue again: %d, %v", n, err)
	}
}

// It comes after more ids than one step takes.
func deadImpossible(t *env) {
	t.bury(outbox.Event{ID: "dead", Topic: "t"})
	ids := []string{"dead"}
	for i := range 600 {
		ids = append(ids, fmt.Sprint(i))
	}
	for name, change := range map[string]func(context.Context, ...string) (int, error){"requeue": t.o.Requeue, "discard": t.o.Discard} {
		for _, impossible := range []string{"a\xff", "a\x00", rep(outbox.MaxIDLen + 1)} {
			if n, err := change(t.ctx(), append(ids, impossible)...); n != 0 || !errors.Is(err, outbox.ErrInvalidOptions) {
				t.Errorf("%s %.9q: %d, %v; want outbox.ErrInvalidOptions", name, impossible, n, err)
			}
		}
	}
	equalIDs(t, "dead letters", t.deadIDs(outbox.DeadLetterQuery{}), []string{"dead"})
}

func deadDiscarded(t *env) {
	ids := t.bury(events("e", 3)...)
	if n, err := t.o.Discard(t.ctx(), ids[1]); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	equalIDs(t, "dead letters", t.deadIDs(outbox.DeadLetterQuery{}), []string{ids[0], ids[2]})
}

func deadMatching(t *env) {
	var list []outbox.Event
	for i := range 1100 { // more than two steps of 500
		list = append(list, outbox.Event{ID: fmt.Sprint(i), Topic: []string{"a", "b"}[i%11/10]})
	}
	t.write(list...)
	t.exec(`UPDATE {events} SET state = 2, settled_ms = 5000, due_ms = 5000, first_failed_ms = 5000, attempts = 1, total_attempts = 1`)
	if n, err := t.o.RequeueMatching(t.ctx(), outbox.DeadLetterQuery{Topic: "a", Limit: 7}); n != 7 || err != nil {
		t.Errorf("requeue 7: %d, %v", n, err)
	}
	if n, err := t.o.DiscardMatching(t.ctx(), outbox.DeadLetterQuery{Topic: "b"}); n != 100 || err != nil {
		t.Errorf("discard b: %d, %v; want 100", n, err)
	}
	if n, err := t.o.DiscardMatching(t.ctx(), outbox.DeadLetterQuery{Until: time.UnixMilli(5000)}); n != 0 || err != nil {
		t.Errorf("discard what died earlier: %d, %v", n, err)
	}
	if n, err := t.o.RequeueMatching(t.ctx(), outbox.DeadLetterQuery{}); n != 993 || err != nil {
		t.Errorf("requeue the rest: %d, %v; want 993", n, err)
	}
	if n := t.number(`SELECT COUNT(*) FROM {events} WHERE state = 0`); n != 1000 {
		t.Errorf("%d are pending, want 1000", n)
	}
	t.exec(`DELETE FROM {events}`)
}

func deadOperators(t *env) {
	ids := t.bury(events("e", 100)...)
	p := &receiver{}
	stop := t.start(t.otherRelay(p, quick(relay.OrderNone)))
	var sum atomic.Int64
	var wg sync.WaitGroup
	for range 10 {
		o := t.outboxOn(t.another(), nil)
		wg.Go(func() {
			n, err := o.Requeue(t.ctx(), ids...)
			if err != nil {
				t.Error(err)
			}
			sum.Add(int64(n))
		})
	}
	wg.Wait()
	if sum.Load() != 100 {
		t.Errorf("the operators requeued %d in all, want 100", sum.Load())
	}
	t.eventually("all are published", func() bool { return t.number(`SELECT COUNT(*) FROM {events}`) == 0 })
	t.mustStop(stop)
	sameIDs(t, "handed over", p.ids(), ids)
}
