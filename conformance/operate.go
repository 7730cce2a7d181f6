package conformance

import (
	"errors"
	"time"

	"github.com/sqloutbox/sqloutbox/outbox"
	"github.com/sqloutbox/sqloutbox/relay"
)

func operateRules() []rule {
	return []rule{
		{"a topic is paused once, until it is resumed", pauseKept},
		{"a single topic is not paused beside a relay of OrderTotal", pauseTotal},
		{"resume puts back what was put aside, in its place", resumePutsBack},
		{"relays are told of while they live", relaysAlive},
		{"lag is told by topic, the longest first", lagTopics},
		{"the event that holds a key is named", heldKeyNamed},
		{"what is due for long is unhealthy, unless outcomes are recorded", healthSilent},
	}
}

func (t *env) pause(topics ...string) {
	t.Helper()
	if err := t.o.Pause(t.ctx(), topics...); err != nil {
		t.Fatalf("pause: %v", err)
	}
}

func (t *env) resume(topics ...string) {
	t.Helper()
	if err := t.o.Resume(t.ctx(), topics...); err != nil {
		t.Fatalf("resume: %v", err)
	}
}

func (t *env) wantPauses(want ...string) {
	t.Helper()
	pauses, err := t.o.Pauses(t.ctx())
	if err != nil {
		t.Fatalf("pauses: %v", err)
	}
	var got []string
	for _, p := range pauses {
		got = append(got, p.Topic)
	}
	equalIDs(t, "paused", got, want)
}

func pauseKept(t *env) {
	t.pause("a", "A", "a ")
	t.pause("a")
	t.wantPauses("A", "a", "a ")
	t.resume("a", "never paused")
	t.resume("a")
	t.wantPauses("A", "a ")
}

func pauseTotal(t *env) {
	stop := t.start(t.relay(&receiver{}, quick(relay.OrderTotal)))
	t.eventually("the relay lives", func() bool { return len(t.living()) == 1 })
	if err := t.o.Pause(t.ctx(), "a"); !errors.Is(err, outbox.ErrPauseTotal) {
		t.Errorf("beside it: %v", err)
	}
	t.wantPauses()
	t.mustStop(stop)
	t.pause("a")
	t.wantPauses("a")
	t.resume("a")
}

func resumePutsBack(t *env) {
	t.write(events("e", 4)...)
	t.write(outbox.Event{ID: "other", Topic: "other"})
	t.exec(`UPDATE {events} SET state = 6 WHERE id IN (?, ?, ?)`, "e-1", "e-2", "other")
	t.pause("conformance", "other")
	t.resume("conformance")
	if x := t.record("other"); x.state != paused {
		t.Errorf("a topic that is still paused: %+v", x)
	}
	t.resume("other")
	p := &receiver{}
	t.drain(t.relay(p, quick(relay.OrderTotal)))
	equalIDs(t, "published", p.ids(), []string{"e-0", "e-1", "e-2", "e-3", "other"})
}

func (t *env) living() []outbox.RelayInfo {
	t.Helper()
	relays, err := t.o.Relays(t.ctx())
	if err != nil {
		t.Fatalf("relays: %v", err)
	}
	return relays
}

func relaysAlive(t *env) {
	if all := t.living(); len(all) != 0 {
		t.Errorf("before any: %+v", all)
	}
	t.write(events("e", 3)...)
	g := newGate()
	done := t.pass(t.otherRelay(g, quick(relay.OrderTotal)))
	await(t, "it hands over", g.entered)
	all := t.living()
	if len(all) != 1 {
		t.Fatalf("%+v", all)
	}
	x := all[0]
	if x.ID == "" || x.Host == "" || x.Process == 0 || x.Order != "total" || x.InHand != 3 || x.Seen < 0 || x.ExpiresIn <= 0 || x.Since.IsZero() {
		t.Errorf("%+v", x)
	}
	close(g.open)
	if err := await(t, "it is done", done); err != nil {
		t.Error(err)
	}
	if all := t.living(); len(all) != 0 {
		t.Errorf("after it has stopped: %+v", all)
	}
}

func lagTopics(t *env) {
	t.write(outbox.Event{ID: "a", Topic: "a"}, outbox.Event{ID: "b", Topic: "b"}, outbox.Event{ID: "b too", Topic: "b"},
		outbox.Event{ID: "c", Topic: "c"}, outbox.Event{ID: "later", Topic: "later", Delay: time.Hour})
	t.exec(`UPDATE {events} SET due_ms = due_ms - 3600000 WHERE id = ?`, "b")
	t.exec(`UPDATE {events} SET due_ms = due_ms - 60000 WHERE id = ?`, "a")
	t.pause("c")
	lags, err := t.o.Lag(t.ctx())
	if err != nil {
		t.Fatalf("lag: %v", err)
	}
	if len(lags) != 2 || lags[0].Topic != "b" || lags[0].Due != 2 || lags[0].Oldest < time.Hour || lags[1].Topic != "a" || lags[1].Oldest < time.Minute {
		t.Errorf("%+v", lags)
	}
}

func heldKeyNamed(t *env) {
	t.write(outbox.Event{ID: "first", Topic: "t", Key: "k"}, outbox.Event{ID: "second", Topic: "t", Key: "k"}, outbox.Event{ID: "third", Topic: "t", Key: "k"})
	first, second := t.record("first").seq, t.record("second").seq
	t.exec(`UPDATE {events} SET state = 5, attempts = 1, total_attempts = 1, first_failed_ms = 1, last_error = 'no route', due_ms = {clock} + 3600000 WHERE seq IN (?, ?)`, first, second)
	t.exec(`UPDATE {events} SET state = 4, due_ms = ? WHERE id = ?`, second, "third")
	t.exec(`INSERT INTO {held} (seq, event_key, partition_no) VALUES (?, 'k', 0), (?, 'k', 0)`, second, first)
	keys, err := t.o.HeldKeys(t.ctx(), outbox.HeldKeyQuery{})
	if err != nil {
		t.Fatalf("held keys: %v", err)
	}
	if len(keys) != 1 {
		t.Fatalf("%+v", keys)
	}
	k := keys[0]
	if k.Key != "k" || k.Seq != first || k.ID != "first" || k.State != outbox.HoldWaiting || k.LastError != "no route" || time.Until(k.NextTry) < time.Minute {
		t.Errorf("%+v", k)
	}
}

func healthSilent(t *env) {
	healthy := func(when string, want bool) {
		t.Helper()
		err := t.o.Health(t.ctx(), outbox.HealthOptions{MaxLag: time.Minute})
		if want && err != nil || !want && !errors.Is(err, outbox.ErrUnhealthy) {
			t.Errorf("%s: %v", when, err)
		}
	}
	healthy("nothing is due", true)
	t.write(events("e", 1)...)
	healthy("due for a moment", true)
	t.exec(`UPDATE {events} SET due_ms = due_ms - 3600000`)
	healthy("due for long", false)
	t.pause(outbox.AllTopics)
	healthy("all is paused", true)
	t.exec(`DELETE FROM {pauses}`)
	healthy("not paused any longer", false)
	t.exec(`INSERT INTO {counters} (name, at_ms) VALUES ('drained', {clock} - 3600000)`)
	healthy("an outcome long ago", false)
	t.exec(`UPDATE {counters} SET at_ms = {clock} - 1000`)
	healthy("an outcome a moment ago", true)
	t.exec(`DELETE FROM {counters}`)
	t.drain(t.relay(&receiver{}, quick(relay.OrderTotal)))
	healthy("all is published", true)
}
