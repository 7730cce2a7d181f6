package conformance

import (
	"time"

	"github.com/sqloutbox/sqloutbox/outbox"
	"github.com/sqloutbox/sqloutbox/relay"
)

func statsRules() []rule {
	return append(operateRules(), []rule{
		{"stats of an empty outbox are zero", statsEmpty},
		{"stats count by state", statsCount},
		{"stats tell held, waiting and paused events apart", statsApart},
		{"stats tell the age of the oldest pending event", statsAge},
		{"stats count a delayed event from when it is due, though no relay lives", statsOverdue},
		{"stats count a requeued event from when it was put back", statsRequeued},
		{"stats name the owner of the lease", statsLease},
	}...)
}

func (t *env) stats() outbox.Stats {
	t.Helper()
	s, err := t.o.Stats(t.ctx())
	if err != nil {
		t.Fatalf("stats: %v", err)
	}
	return s
}

func statsEmpty(t *env) {
	s := t.stats()
	if len(s.Leases) != 0 || s.Pending+s.Due+s.Scheduled+s.Dead+s.Published != 0 || s.OldestPending != 0 {
		t.Errorf("%+v", s)
	}
}

func statsCount(t *env) {
	t.old("published", 2, published, time.Minute)
	t.bury(events("dead", 3)...)
	t.write(outbox.Event{Topic: "t", Delay: time.Hour})
	t.write(events("waits", 2)...)
	t.exec(`UPDATE {events} SET due_ms = {clock} + 3600000, attempts = 1, total_attempts = 1, first_failed_ms = 1 WHERE state = 0`)
	t.write(events("due", 5)...)
	s := t.stats()
	if s.Published != 2 || s.Dead != 3 || s.Scheduled != 1 || s.Pending != 7 || s.Due != 5 {
		t.Errorf("%+v", s)
	}
}

func statsApart(t *env) {
	t.write(events("e", 6)...)
	t.exec(`UPDATE {events} SET state = 5, attempts = 1, total_attempts = 1, first_failed_ms = 1 WHERE id = ?`, "e-0")
	t.exec(`UPDATE {events} SET state = 5, attempts = 1, total_attempts = 1, first_failed_ms = 1, due_ms = {clock} + 3600000 WHERE id = ?`, "e-1")
	t.exec(`UPDATE {events} SET state = 4, due_ms = 1, event_key = 'k' WHERE id IN (?, ?)`, "e-2", "e-3")
	t.exec(`UPDATE {events} SET state = 6 WHERE id = ?`, "e-4")
	t.exec(`INSERT INTO {held} (seq, event_key, partition_no) VALUES (1, 'k', 0), (2, 'k', 0), (3, 'K', 0)`)
	s := t.stats()
	if s.Pending != 5 || s.Due != 2 || s.Waiting != 1 || s.Held != 2 || s.HeldKeys != 2 || s.Paused != 1 {
		t.Errorf("%+v", s)
	}
}

func statsAge(t *env) {
	t.old("published", 1, published, time.Hour)
	t.exec(`UPDATE {events} SET created_ms = 1`)
	t.write(events("e", 3)...)
	t.exec(`UPDATE {events} SET created_ms = {clock} - 60000, due_ms = {clock} - 60000 WHERE id = ?`, "e-0")
	if s := t.stats(); s.OldestPending < time.Minute || s.OldestPending > 2*time.Minute {
		t.Errorf("oldest pending %v, want a minute", s.OldestPending)
	}
}

func statsOverdue(t *env) {
	t.write(outbox.Event{ID: "delayed", Topic: "t", Delay: time.Hour})
	t.exec(`UPDATE {events} SET created_ms = created_ms - 7200000, due_ms = {clock} - 60000`)
	for _, met := range []bool{false, true} {
		if met {
			t.exec(`UPDATE {events} SET state = 0`)
		}
		s := t.stats()
		if s.Due != 1 || s.Pending != 1 || s.Scheduled != 0 || s.OldestPending < time.Minute || s.OldestPending > time.Hour {
			t.Errorf("made pending by a relay: %v: %+v", met, s)
		}
	}
}

func statsRequeued(t *env) {
	t.bury(events("dead", 1)...)
	t.exec(`UPDATE {events} SET created_ms = 1`)
	if n, err := t.o.Requeue(t.ctx(), "dead-0"); n != 1 || err != nil {
		t.Fatalf("requeue: %d, %v", n, err)
	}
	if s := t.stats(); s.Due != 1 || s.OldestPending > time.Hour {
		t.Errorf("%+v", s)
	}
}

func statsLease(t *env) {
	t.write(events("e", 1)...)
	g := newGate()
	done := t.pass(t.otherRelay(g, quick(relay.OrderTotal)))
	m := await(t, "it hands over", g.entered)
	s := t.stats()
	if len(s.Leases) != 1 {
		t.Fatalf("%+v", s)
	}
	l := s.Leases[0]
	if l.Name != "total" || l.Owner == "" || l.Host == "" || l.Process == 0 || l.Token != m.Token || l.Age < 0 || l.ExpiresIn <= 0 || l.ExpiresIn > 30*time.Second {
		t.Errorf("%+v", l)
	}
	close(g.open)
	if err := await(t, "it is done", done); err != nil {
		t.Error(err)
	}
	if l := t.stats().Leases[0]; l.Owner != "" || l.Age != 0 {
		t.Errorf("a lease that was given back: %+v", l)
	}
}
