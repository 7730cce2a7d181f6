package conformance

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/sqloutbox/sqloutbox/outbox"
	"github.com/sqloutbox/sqloutbox/relay"
)

// SeedVariable names the environment variable that fixes the seed of the model cases, as their log prints it.
const SeedVariable = "OUTBOX_CONFORMANCE_SEED"

const (
	modelSteps    = 150
	modelAttempts = 4
)

func modelRules() []rule {
	const name = "whatever happens in whatever order, the tables are as in the model"
	return []rule{
		{name + ", total", func(t *env) { runModel(t, relay.OrderTotal) }},
		{name + ", none", func(t *env) { runModel(t, relay.OrderNone) }},
		{"whatever happens at once, each key is in order and nothing is lost", runKeyModel},
	}
}

// known is what the model believes of one event.
type known struct {
	id              string
	seq             int64
	state           int64
	attempts, total int64
	waits           bool // not due
}

// model is the outbox in memory. What a relay hands over is checked as it happens, the tables after every step.
type model struct {
	t      *env
	order  relay.Order
	keep   bool // published events are kept
	rng    *rand.Rand
	events map[string]*known
	relays []*relay.Relay
	made   int
	hands  int // hand-overs

	inner     func(msg relay.Message) // run inside of the next hand-over
	fatal     bool                    // the next hand-over makes a dead letter
	untouched map[string]bool         // outcomes for these change nothing: they are another's by now
	late      int64                   // nor do those under this token or an older one
	suspect   string                  // may be charged for a crash: its owner was overtaken with it in hand, and looks dead
	crash     int                     // hand-overs until the relay dies; 0: it lives
	handed    []string
	refused   int64 // outcomes for late hand-overs, but for "unavailable", which says nothing of the event
}

func runModel(t *env, order relay.Order) {
	seed := t.seed()
	m := &model{t: t, order: order, rng: rand.New(rand.NewPCG(seed, 7)), events: map[string]*known{}}
	m.keep = m.rng.IntN(2) == 0
	for range 3 {
		m.relays = append(m.relays, t.otherRelay(&receiver{answer: m.answer}, m.options()))
	}
	steps := &modelPace{t: t, rng: m.rng, most: modelSteps, hands: func() int { return m.hands }, kinds: []modelStep{
		{30, "write", happens(m.write)},
		{30, "pass", happens(m.pass)},
		{8, "overtaken", m.overtaken},
		{10, "make due", happens(m.makeDue)},
		{8, "requeue", func() bool { return m.change("requeue", m.t.o.Requeue) }},
		{4, "discard", func() bool { return m.change("discard", m.t.o.Discard) }},
		{3, "crash", m.crashed},
	}}
	steps.run(m.compare)
	m.finish()
	if t.Failed() {
		t.Logf("%s=%d, steps: %q", SeedVariable, seed, steps.last(25))
	}
}

func (m *model) options() *relay.Options {
	opts := quick(m.order)
	opts.MaxAttempts = modelAttempts
	opts.Batch = 5
	if m.keep {
		opts.Retention = time.Hour
	}
	if m.order == relay.OrderNone {
		opts.Concurrency = 1
	}
	return opts
}

func (m *model) write() {
	var list []outbox.Event
	for range 1 + m.rng.IntN(4) {
		m.made++
		e := outbox.Event{ID: fmt.Sprintf("m%d", m.made), Topic: "t"}
		if m.rng.IntN(6) == 0 {
			e.Delay = time.Hour
		}
		list = append(list, e)
	}
	rollback := m.rng.IntN(4) == 0
	err := m.t.o.InTx(m.t.ctx(), func(ctx context.Context, tx *sql.Tx) error {
		_, err := m.t.o.Write(ctx, tx, list...)
		if err == nil && rollback {
			return errNo
		}
		return err
	})
	if rollback {
		return
	}
	if err != nil {
		m.t.Fatalf("write: %v", err)
	}
	for _, e := range list {
		k := &known{id: e.ID, waits: e.Delay > 0}
		if k.waits {
			k.state = scheduled
		}
		m.events[e.ID] = k
	}
	for _, x := range m.t.records() {
		if k := m.events[x.id]; k != nil {
			k.seq = x.seq
		}
	}
}

func (m *model) anyRelay() *relay.Relay { return m.relays[m.rng.IntN(len(m.relays))] }

func (m *model) pass() { m.t.once(m.anyRelay()) }

func (m *model) makeDue() {
	m.t.makeDue()
	for _, k := range m.events {
		k.waits = false
	}
}

// overtaken is a pass that is paused in its first hand-over past the end of what it owns, while another relay makes a
// pass.
func (m *model) overtaken() bool {
	i := m.rng.IntN(len(m.relays))
	a, b := m.relays[i], m.relays[(i+1)%len(m.relays)]
	refused := a.Refused()
	m.refused = 0
	paused := false
	m.inner = func(msg relay.Message) {
		paused = true
		if m.order == relay.OrderTotal {
			m.t.expireLease()
		} else {
			m.t.expireClaims()
		}
		m.handed, m.suspect = nil, msg.ID
		m.t.once(b)
		m.learnCharge(msg.ID)
		m.makeDue()
		m.untouched = map[string]bool{}
		for _, id := range m.handed {
			m.untouched[id] = true
		}
		if m.order == relay.OrderTotal {
			m.late, m.untouched = msg.Token, nil
		}
	}
	_, err := a.RunOnce(m.t.ctx())
	if !paused {
		m.inner = nil
	}
	m.untouched, m.late, m.suspect = nil, 0, ""
	if err != nil && m.order == relay.OrderNone {
		m.t.Errorf("overtaken pass: %v", err)
	}
	if a.Refused()-refused != m.refused {
		m.t.Errorf("%d outcomes of an overtaken pass were refused, want %d", a.Refused()-refused, m.refused)
	}
	return paused
}

func (m *model) change(name string, change func(context.Context, ...string) (int, error)) bool {
	var ids []string
	want := 0
	for _, k := range m.sorted() {
		if m.rng.IntN(3) > 0 && (k.state != dead || want > 0) { // of the dead ones the first in any case
			continue
		}
		ids = append(ids, k.id)
		if k.state != dead {
			continue
		}
		want++
		if name == "discard" {
			delete(m.events, k.id)
			continue
		}
		k.state, k.attempts, k.waits = pending, 0, false
	}
	if n, err := change(m.t.ctx(), ids...); n != want || err != nil {
		m.t.Errorf("%s: %d, %v; want %d", name, n, err, want)
	}
	m.fatal = m.fatal || want == 0 // so that there is one the next time
	return want > 0
}

func (m *model) sorted() []*known {
	var all []*known
	for _, k := range m.events {
		all = append(all, k)
	}
	slices.SortFunc(all, func(a, b *known) int { return int(a.seq - b.seq) })
	return all
}

// seed is what SeedVariable says, or another one at each run, which is logged.
func (t *env) seed() uint64 {
	t.Helper()
	seed := uint64(time.Now().UnixNano())
	if text := os.Getenv(SeedVariable); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatalf("%s: %v", SeedVariable, err)
		}
	}
	t.Logf("%s=%d", SeedVariable, seed)
	return seed
}
