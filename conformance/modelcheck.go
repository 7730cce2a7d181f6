package conformance

import (
	"context"
	"time"

	"github.com/sqloutbox/sqloutbox/relay"
)

// answer is every relay's publisher: it checks that this hand-over is allowed now, chooses an outcome, and notes it.
func (m *model) answer(_ context.Context, msg relay.Message) error {
	if m.crash > 0 {
		return nil // looked at afterwards
	}
	m.hands++
	m.handed = append(m.handed, msg.ID)
	if !m.isLate(msg) {
		m.checkHandOver(msg)
	}
	if inner := m.inner; inner != nil {
		m.inner = nil
		inner(msg)
	}
	k := m.events[msg.ID]
	err := m.choose()
	if m.isLate(msg) && !relay.IsUnavailable(err) {
		m.refused++
	}
	if k == nil || m.isLate(msg) {
		return err
	}
	switch {
	case err == nil && m.keep:
		k.state, k.attempts, k.total = published, k.attempts+1, k.total+1
	case err == nil:
		delete(m.events, k.id)
	case relay.IsUnavailable(err):
		wait, _ := relay.RetryAfterOf(err)
		k.waits = m.order == relay.OrderNone && wait > 0
	default:
		k.attempts, k.total = k.attempts+1, k.total+1
		wait, _ := relay.RetryAfterOf(err)
		k.waits = wait > 0
		if relay.IsPermanent(err) || k.attempts >= modelAttempts {
			k.state = dead
		}
	}
	return err
}

// learnCharge takes over what the new owner has charged an event for the apparent death of the former one.
func (m *model) learnCharge(id string) {
	k := m.events[id]
	if k == nil || k.state != pending || m.order != relay.OrderTotal {
		return
	}
	x := m.t.record(id)
	if charge := x.attempts - k.attempts; charge > 0 && charge <= 2 {
		k.attempts, k.total = x.attempts, k.total+charge
		if x.state == dead && k.attempts >= modelAttempts {
			k.state = dead
		}
	}
}

// isLate: the relay that hands it over has been overtaken, so the outcome changes nothing.
func (m *model) isLate(msg relay.Message) bool {
	return m.order == relay.OrderTotal && msg.Token <= m.late || m.untouched[msg.ID]
}

func (m *model) choose() error {
	if m.fatal {
		m.fatal = false
		return relay.Permanent(errNo)
	}
	switch n := m.rng.IntN(20); {
	case n < 12:
		return nil
	case n < 15:
		return relay.RetryAfter(0, errNo)
	case n < 17:
		return relay.RetryAfter(time.Hour, errNo)
	case n < 18:
		return relay.Permanent(errNo)
	default:
		return relay.Unavailable(errNo)
	}
}

func (m *model) checkHandOver(msg relay.Message) {
	k := m.events[msg.ID]
	if k != nil && k.id == m.suspect && m.order == relay.OrderTotal {
		if charge := int64(msg.Attempt) - 1 - k.attempts; charge > 0 && charge <= 2 {
			k.attempts, k.total = k.attempts+charge, k.total+charge
		}
	}
	switch {
	case k == nil:
		m.t.Errorf("event %s was handed over, though it was rolled back, discarded or published", msg.ID)
		return
	case k.state != pending && k.state != scheduled, k.waits:
		m.t.Errorf("event %s was handed over in state %d, waiting %v", k.id, k.state, k.waits)
	case int64(msg.Attempt) != k.attempts+1:
		m.t.Errorf("event %s: attempt %d, want %d", k.id, msg.Attempt, k.attempts+1)
	case msg.Requeued != (k.total > k.attempts):
		m.t.Errorf("event %s: requeued %v, after %d attempts of %d", k.id, msg.Requeued, k.attempts, k.total)
	}
	k.state = pending
	if m.order != relay.OrderTotal {
		return
	}
	if m.suspect != "" && m.suspect != k.id {
		m.learnCharge(m.suspect) // it may have been given up for that, and then holds nobody
	}
	for _, before := range m.sorted() {
		if before.seq >= k.seq {
			return
		}
		if before.state == pending && (!before.waits || before.attempts > 0) {
			m.t.Errorf("event %s (seq %d) was handed over before %s (seq %d)", k.id, k.seq, before.id, before.seq)
		}
	}
}

// compare holds the table against the model.
func (m *model) compare() {
	seen := map[string]bool{}
	for _, x := range m.t.records() {
		seen[x.id] = true
		k := m.events[x.id]
		if k == nil {
			m.t.Errorf("event %s is in the table, in state %d, and should not be", x.id, x.state)
			continue
		}
		state := k.state
		if state == scheduled && !k.waits && x.state == pending {
			k.state, state = pending, pending // its time has come, and a relay has looked
		}
		if x.state != state || x.attempts != k.attempts || x.total != k.total {
			m.t.Errorf("want state %d, attempts %d/%d:%s", state, k.attempts, k.total, describe([]record{x}))
		}
	}
	for id := range m.events {
		if !seen[id] {
			m.t.Errorf("event %s is lost", id)
		}
	}
}

// crashed lets a relay die in one of its first hand-overs. What its death costs whom is the crash cases' matter; here
// at most one event may be charged, and nothing may be lost.
func (m *model) crashed() bool {
	t := m.t
	m.crash = 1 + m.rng.IntN(4)
	left := m.crash
	p := &receiver{}
	died := t.dyingRelay(m.order, modelAttempts, p, func(relay.Message) bool { left--; return left == 0 }).untilDead()
	m.crash = 0
	if died {
		// The next owner finds what was left in hand, and hands over to a destination that is down, so that nobody is
		// charged but for the crash.
		opts := m.options()
		next := t.otherRelay(alwaysAnswer(relay.Unavailable(errNo)), opts) // on a pool of its own: one is enough
		for range 100 {
			t.once(next)
			if t.number(`SELECT COUNT(*) FROM {events} WHERE claimed_by <> ''`) == 0 {
				break
			}
		}
		m.makeDue()
	}
	m.learn(p, died)
	return died
}

// learn takes over what a dying relay did to the table, as far as that was allowed.
func (m *model) learn(p *receiver, died bool) {
	now := map[string]record{}
	for _, x := range m.t.records() {
		now[x.id] = x
	}
	charged := 0
	for id, k := range m.events {
		x, there := now[id]
		handed := len(p.of(id)) > 0
		switch {
		case !there && handed:
			delete(m.events, id) // published and recorded before the end
		case !there:
		case x.attempts != k.attempts && handed && x.state != published:
			charged++
			if !died || x.attempts < k.attempts || x.attempts > k.attempts+2 {
				m.t.Errorf("event %s: attempts %d, had %d before the crash", id, x.attempts, k.attempts)
			}
			k.total += x.attempts - k.attempts
			k.attempts = x.attempts
			if x.state == dead && x.attempts >= modelAttempts {
				k.state = dead
			}
		}
		if there && x.state == pending && k.state == scheduled && !k.waits {
			k.state = pending
		}
	}
	if charged > 1 {
		m.t.Errorf("%d events were charged for one crash", charged)
	}
}

// finish brings every event to an end: nothing may be left that no relay takes up.
func (m *model) finish() {
	if m.t.Failed() {
		return
	}
	m.makeDue()
	p := &receiver{}
	m.t.drain(m.t.otherRelay(p, m.options()))
	m.t.drain(m.t.otherRelay(p, m.options()))
	for _, k := range m.events {
		if (k.state == pending || k.state == scheduled) && len(p.of(k.id)) == 0 {
			m.t.Errorf("event %s was not handed over at the end", k.id)
		}
	}
}
