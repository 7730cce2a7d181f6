package conformance

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/sqloutbox/sqloutbox/relay"
)

const (
	keyModelSlots = 3
	keyModelSteps = 250
)

// modelKeys are in three partitions, two in each.
var modelKeys = []string{"k1", neighbour("k1"), "k2", neighbour("k2"), "k3", neighbour("k3")}

// keyModel is the outbox as it should be while several relays work on a handful of keys at once, come, go and fall. What
// happens is chosen by the seed; when it happens is up to the relays. Hand-overs are checked as they begin and end (see
// modelkeyscheck.go), what the tables must say at any time after every step, and at the end that nothing is lost.
type keyModel struct {
	t     *env
	seed  uint64
	rng   *rand.Rand
	hold  bool // HoldKey
	slots []*keySlot
	open  []*openWrite
	made  int
	waits int // overtakings in a row that found nothing handed over

	mu     sync.Mutex // guards what follows
	events map[string]*keyEvent
	keys   map[string]*keyState
	wins   map[partitionToken]*ownership
	hands  int           // hand-overs
	trap   chan *trapped // one hand-over goes in here, and waits
	calm   bool          // everything is published from now on
}

// keySlot is a relay that runs or does not.
type keySlot struct {
	m    *keyModel
	r    *relay.Relay
	stop func() error // nil: it does not run
	cur  *ownership   // guarded by m.mu
}

func runKeyModel(t *env) {
	seed := t.seed()
	m := &keyModel{
		t: t, seed: seed, rng: rand.New(rand.NewPCG(seed, 11)),
		events: map[string]*keyEvent{}, keys: map[string]*keyState{}, wins: map[partitionToken]*ownership{},
	}
	m.hold = m.rng.IntN(2) == 0
	for range keyModelSlots {
		s := &keySlot{m: m}
		opts := quick(relay.OrderPerKey)
		opts.Batch, opts.Concurrency, opts.MaxAttempts = 3+m.rng.IntN(8), 4, 50
		opts.Observers = []relay.Observer{s}
		if m.hold {
			opts.OnDead = relay.HoldKey
		}
		s.r = t.otherRelay(relay.PublisherFunc(func(ctx context.Context, msg relay.Message) error { return m.publish(s, msg) }), opts)
		m.slots = append(m.slots, s)
	}
	steps := &modelPace{t: t, rng: m.rng, most: keyModelSteps, hands: m.handOvers, kinds: m.kinds()}
	steps.run(m.checkTables)
	m.finish()
	if t.Failed() {
		t.Logf("%s=%d, HoldKey %v, steps: %q", SeedVariable, seed, m.hold, steps.last(40))
	}
}

func (m *keyModel) kinds() []modelStep {
	kinds := []modelStep{
		{30, "write", happens(m.write)},
		{10, "make due", happens(m.makeDue)},
		{8, "requeue", func() bool { return m.change(m.t.o.Requeue, true, 2) }},
		{4, "discard", func() bool { return m.change(m.t.o.Discard, false, 2) }},
		{4, "pause", happens(func() { m.t.pause("t1") })},
		{8, "resume", happens(func() { m.t.resume("t1") })},
		{8, "join", m.join},
		{5, "leave", m.leave},
		{4, "overtake", m.overtake},
		{15, "work", happens(func() { passes(m.t, time.Duration(m.rng.IntN(30))*time.Millisecond) })},
	}
	if !m.t.oneWriter() { // where all would wait for a transaction that is open
		kinds = append(kinds, modelStep{8, "open", m.begin}, modelStep{8, "commit", m.commit})
	}
	return kinds
}

func (m *keyModel) handOvers() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.hands
}

// finish brings every event to an end.
func (m *keyModel) finish() {
	t := m.t
	for _, w := range m.open {
		if err := w.tx.Commit(); err != nil {
			t.Errorf("commit: %v", err)
		}
	}
	m.open = nil
	if t.Failed() {
		return
	}
	t.resume("t1")
	m.mu.Lock()
	m.calm = true
	m.mu.Unlock()
	m.join()
	done := holdsWithin(t.h.Patience, func() bool {
		m.change(t.o.Requeue, true, 1)
		t.makeDue()
		return t.number(`SELECT COUNT(*) FROM {events}`) == 0 && t.number(`SELECT COUNT(*) FROM {held}`) == 0
	})
	if !done {
		t.Errorf("not within %v: all is through: %d events hold a key, and these are left:%s", t.h.Patience, t.number(`SELECT COUNT(*) FROM {held}`), describe(t.records()))
	}
	for _, s := range m.running() {
		m.stop(s)
	}
	if done {
		m.checkEnd()
	}
}
