package conformance

import (
	"math/rand/v2"
	"strings"
	"time"

	"github.com/sqloutbox/sqloutbox/internal/owners"
	"github.com/sqloutbox/sqloutbox/outbox"
	"github.com/sqloutbox/sqloutbox/relay"
)

// keyEvent is what the model believes of one event.
type keyEvent struct {
	id, key  string
	seq      int64
	inLine   bool // written in the order of commits, and not delayed
	there    bool // it has not been rolled back or discarded
	requeued bool
	dead     bool
	unsure   bool // its last outcome may or may not be recorded
	tries    int
	passes   []partitionToken // hand-overs that published it
	handed   bool             // for the first time
}

// keyState is what the model believes of a key.
type keyState struct {
	inside  map[string]partitionToken // hand-overs under way
	holders map[string]*keyEvent      // not through: nothing behind one may be handed over
	first   int64                     // the highest seq that was handed over for the first time
}

// partitionToken is what a hand-over is made under.
type partitionToken struct{ partition, token int64 }

// ownership is a session of a relay: all that it owns under whatever tokens.
type ownership struct {
	over bool // by the database's clock, or soon: what it does from now on does not count
}

func partitionOf(msg relay.Message) int64 {
	if msg.Key == "" {
		return int64(outbox.Partition(msg.ID))
	}
	return int64(outbox.Partition(msg.Key))
}

func (m *keyModel) key(key string) *keyState {
	k := m.keys[key]
	if k == nil {
		k = &keyState{inside: map[string]partitionToken{}, holders: map[string]*keyEvent{}}
		m.keys[key] = k
	}
	return k
}

// LeaseWon implements relay.LeaseWonObserver.
func (s *keySlot) LeaseWon(name string, token int64) {
	s.m.mu.Lock()
	defer s.m.mu.Unlock()
	if s.cur == nil {
		s.cur = &ownership{}
	}
	for p := range int64(outbox.Partitions) {
		if name == owners.PartitionName(p) {
			at := partitionToken{p, token}
			if s.m.wins[at] != nil {
				s.m.t.Errorf("%s was won twice under token %d", name, token)
			}
			s.m.wins[at] = s.cur
		}
	}
}

// LeaseLost implements relay.LeaseLostObserver.
func (s *keySlot) LeaseLost(_ string, _ int64, err error) {
	s.m.mu.Lock()
	defer s.m.mu.Unlock()
	if err != nil {
		s.cur = nil // its next session is another
	}
}

// late: whoever hands over under this token has been declared over.
func (m *keyModel) late(at partitionToken) bool { return m.wins[at] == nil || m.wins[at].over }

// publish is every relay's publisher.
func (m *keyModel) publish(s *keySlot, msg relay.Message) error {
	at := partitionToken{partitionOf(msg), msg.Token}
	m.mu.Lock()
	m.hands++
	m.begins(msg, at)
	err := m.choose(msg)
	trap := m.trap
	if trap != nil && !m.late(at) {
		m.trap = nil
	} else {
		trap = nil
	}
	m.mu.Unlock()
	if trap != nil {
		x := &trapped{s, msg, make(chan struct{})}
		trap <- x
		<-x.open
	} else {
		time.Sleep(rand.N(2 * time.Millisecond))
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ends(msg, at, err)
	return err
}

// choose picks an outcome by the seed, the event and how often it was handed over.
func (m *keyModel) choose(msg relay.Message) error {
	e := m.events[msg.ID]
	if e == nil {
		return nil
	}
	e.tries++
	n := seqHash(m.seed, msg.ID, e.tries) % 40
	switch {
	case m.calm, n < 24:
		return nil
	case n < 30:
		return relay.RetryAfter(0, errNo)
	case n < 34:
		return inAnHour
	case n < 38:
		return permanent
	default:
		return relay.Unavailable(errNo)
	}
}

// seqHash is a number that depends on all of these alone.
func seqHash(seed uint64, id string, n int) uint64 {
	for _, c := range id {
		seed = seed*31 + uint64(c)
	}
	return rand.New(rand.NewPCG(seed, uint64(n))).Uint64()
}

func (m *keyModel) begins(msg relay.Message, at partitionToken) {
	e, t := m.events[msg.ID], m.t
	if m.wins[at] == nil {
		t.Errorf("event %s is handed over under token %d, which no relay was given for partition %d", msg.ID, at.token, at.partition)
	}
	if m.late(at) {
		return
	}
	if e == nil || !e.there {
		t.Errorf("event %s was handed over, though it was rolled back or discarded", msg.ID)
		return
	}
	e.seq = msg.Seq
	if !e.unsure && msg.Requeued != e.requeued {
		t.Errorf("event %s says requeued %v", e.id, msg.Requeued)
	}
	for _, before := range e.passes {
		if !m.late(before) {
			t.Errorf("event %s was handed over again, though it is published", e.id)
		}
	}
	e.dead, e.unsure = false, false
	if e.key == "" {
		return
	}
	k := m.key(e.key)
	for id, other := range k.inside {
		if !m.late(other) {
			t.Errorf("event %s of %s was handed over while %s was", e.id, e.key, id)
		}
	}
	for _, h := range k.holders {
		if h.seq < e.seq && !h.unsure && !m.calm {
			t.Errorf("event %s (seq %d) of %s was handed over before %s (seq %d), which has failed", e.id, e.seq, e.key, h.id, h.seq)
		}
	}
	// What was requeued was dead, and so handed over before: by one that was declared over while it still recorded outcomes.
	if !e.handed && e.inLine && !e.requeued {
		if e.seq < k.first {
			t.Errorf("event %s (seq %d) of %s was handed over after seq %d", e.id, e.seq, e.key, k.first)
		}
		k.first = max(k.first, e.seq)
	}
	e.handed = true
	k.inside[e.id] = at
}

func (m *keyModel) ends(msg relay.Message, at partitionToken, err error) {
	e := m.events[msg.ID]
	if e == nil {
		return
	}
	k := m.key(e.key)
	if k.inside[e.id] == at {
		delete(k.inside, e.id)
	}
	if err == nil {
		e.passes = append(e.passes, at)
	}
	switch {
	case m.late(at):
		e.unsure = true
	case relay.IsUnavailable(err):
	case err == nil, relay.IsPermanent(err) && !m.hold:
		e.dead = err != nil
		delete(k.holders, e.id)
	default:
		e.dead = relay.IsPermanent(err)
		if e.key != "" {
			k.holders[e.id] = e
		}
	}
}

// keyFaults count rows that must not be there at any time while relays work in order per key.
var keyFaults = map[string]string{
	"an event is behind no holder of its key": `SELECT COUNT(*) FROM {events} e WHERE e.state = 4
AND NOT EXISTS (SELECT 1 FROM {held} h WHERE h.event_key = e.event_key AND h.seq < e.seq)`,
	"an event waits or is paused, and does not hold its key": `SELECT COUNT(*) FROM {events} e WHERE e.state IN (5, 6) AND e.event_key <> ''
AND NOT EXISTS (SELECT 1 FROM {held} h WHERE h.seq = e.seq)`,
	"a partition's owner has no row": `SELECT COUNT(*) FROM {leases} l WHERE l.owner <> '' AND l.name LIKE 'key/%'
AND NOT EXISTS (SELECT 1 FROM {relays} r WHERE r.id = l.owner AND r.order_name <> 'crash')`,
	"there are more partitions than there should be": `SELECT COUNT(*) FROM {leases} WHERE name LIKE 'key/%' AND (name > 'key/63' OR name < 'key/00')`,
}

func (m *keyModel) checkTables() {
	for fault, text := range keyFaults {
		if n := m.t.number(text); n != 0 {
			m.t.Errorf("%d rows: %s:%s", n, fault, describe(m.t.records()))
		}
	}
}

// checkEnd: all is through. Only what was in the hands of a relay that was declared over may be published twice.
func (m *keyModel) checkEnd() {
	m.checkTables()
	for _, e := range m.events {
		var counted []string
		for _, at := range e.passes {
			if !m.late(at) {
				counted = append(counted, owners.PartitionName(at.partition))
			}
		}
		switch {
		case !e.there && len(counted) > 0:
			m.t.Errorf("event %s was published, though it was rolled back or discarded", e.id)
		case e.there && len(e.passes) == 0:
			m.t.Errorf("event %s was never published", e.id)
		case len(counted) > 1:
			m.t.Errorf("event %s was published %d times: %s", e.id, len(counted), strings.Join(counted, " "))
		}
	}
}
