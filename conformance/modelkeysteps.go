package conformance

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/sqloutbox/sqloutbox/internal/owners"
	"github.com/sqloutbox/sqloutbox/outbox"
	"github.com/sqloutbox/sqloutbox/relay"
)

// openWrite is a transaction that is still to end.
type openWrite struct {
	tx  *sql.Tx
	ids []string
}

// newEvents makes events and lets the model know of them; commits is whether they are in order of commit.
func (m *keyModel) newEvents(n int, commitsInOrder bool) (list []outbox.Event, ids []string) {
	mountain := m.rng.IntN(len(modelKeys)) // has most of many, and the rest is of its neighbour
	for i := range n {
		m.made++
		e := outbox.Event{ID: fmt.Sprintf("m%d", m.made), Topic: fmt.Sprintf("t%d", m.rng.IntN(5)/4)}
		if k := m.rng.IntN(len(modelKeys) + 1); k < len(modelKeys) {
			e.Key = modelKeys[k]
		}
		if i >= 10 {
			e.Key = modelKeys[mountain]
			if m.rng.IntN(3) == 0 {
				e.Key = modelKeys[mountain^1]
			}
		}
		if m.rng.IntN(12) == 0 {
			e.Delay = time.Hour
		}
		list, ids = append(list, e), append(ids, e.ID)
		m.mu.Lock()
		m.events[e.ID] = &keyEvent{id: e.ID, key: e.Key, inLine: commitsInOrder && e.Delay == 0, there: true}
		m.mu.Unlock()
	}
	return list, ids
}

// free makes it an event that no key and no pause holds.
func (m *keyModel) free(e *outbox.Event) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e.Topic, e.Key, e.Delay = "t0", "", 0
	m.events[e.ID].key = ""
}

func (m *keyModel) forget(ids []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, id := range ids {
		m.events[id].there = false
	}
}

func (m *keyModel) write() {
	n := 1 + m.rng.IntN(8)
	if m.rng.IntN(8) == 0 {
		n = 20 + m.rng.IntN(100)
	}
	list, ids := m.newEvents(n, true)
	rollback := m.rng.IntN(6) == 0
	if rollback {
		m.forget(ids)
	}
	plain := ids[m.rng.IntN(len(ids)):]
	if m.rng.IntN(2) == 0 {
		plain = nil
	}
	err := m.unblocked(func() error {
		return m.t.o.InTx(m.t.ctx(), func(ctx context.Context, tx *sql.Tx) error {
			return m.writeIn(ctx, tx, list, plain, rollback)
		})
	})
	if err != nil && !rollback {
		m.t.Fatalf("write: %v", err)
	}
}

// unblocked runs a write that may have to wait for one of the model's own open transactions, and commits those if it does:
// on InnoDB that was seen now and then, where rows are inserted into one page. What waits for a relay goes on waiting, and
// fails the case.
func (m *keyModel) unblocked(write func() error) error {
	done := make(chan error, 1)
	go func() { done <- write() }()
	select {
	case err := <-done:
		return err
	case <-time.After(m.t.h.Patience / 6):
	}
	m.t.Logf("a write waits, with %d transactions open", len(m.open))
	for len(m.open) > 0 {
		m.commit()
	}
	return <-done
}

func (m *keyModel) writeIn(ctx context.Context, tx *sql.Tx, list []outbox.Event, plain []string, rollback bool) error {
	if _, err := m.t.o.Write(ctx, tx, list...); err != nil {
		return err
	}
	for _, id := range plain { // as another language writes: without a partition
		if _, err := tx.ExecContext(ctx, m.t.sql.SQL(`UPDATE {events} SET partition_no = -1 WHERE id = ?`), id); err != nil {
			return err
		}
	}
	if rollback {
		return errNo
	}
	return nil
}

// begin writes events of a transaction that commits later, behind others with higher numbers.
func (m *keyModel) begin() bool {
	if len(m.open) > 2 {
		return false
	}
	list, ids := m.newEvents(1+m.rng.IntN(2), false)
	w := &openWrite{tx: m.t.begin(m.t.another()), ids: ids}
	err := m.unblocked(func() error {
		_, err := m.t.o.Write(m.t.ctx(), w.tx, list...)
		return err
	})
	if err != nil {
		m.t.Fatalf("write: %v", err)
	}
	m.open = append(m.open, w)
	return true
}

func (m *keyModel) commit() bool {
	if len(m.open) == 0 {
		return false
	}
	w := m.open[0]
	m.open = m.open[1:]
	if m.rng.IntN(4) == 0 {
		m.forget(w.ids)
		_ = w.tx.Rollback()
		return true
	}
	if err := w.tx.Commit(); err != nil {
		m.t.Fatalf("commit: %v", err)
	}
	return true
}

// makeDue lets no event wait any longer. A row at a time: InnoDB would wait for what an open transaction has inserted.
func (m *keyModel) makeDue() {
	for _, x := range m.t.records() {
		if x.state == scheduled || x.state == waiting {
			m.t.exec(`UPDATE {events} SET due_ms = 1 WHERE seq = ? AND state IN (3, 5)`, x.seq)
		}
	}
}

// change requeues or discards one in some of what is dead.
func (m *keyModel) change(change func(context.Context, ...string) (int, error), requeue bool, some int) bool {
	list, err := m.t.o.DeadLetters(m.t.ctx(), outbox.DeadLetterQuery{})
	if err != nil {
		m.t.Fatalf("dead letters: %v", err)
	}
	var ids []string
	m.mu.Lock()
	for _, d := range list {
		if m.rng.IntN(some) > 0 {
			continue
		}
		ids = append(ids, d.ID)
		if e := m.events[d.ID]; requeue {
			e.requeued = true
		} else {
			e.there = false
			delete(m.key(e.key).holders, e.id)
		}
	}
	m.mu.Unlock()
	if n, err := change(m.t.ctx(), ids...); n != len(ids) || err != nil {
		m.t.Errorf("%d dead letters of %d were changed: %v", n, len(ids), err)
	}
	return len(ids) > 0
}

func (m *keyModel) running() (run []*keySlot) {
	for _, s := range m.slots {
		if s.stop != nil {
			run = append(run, s)
		}
	}
	return run
}

func (m *keyModel) join() bool {
	for _, s := range m.slots {
		if s.stop == nil {
			m.mu.Lock()
			s.cur = nil
			m.mu.Unlock()
			s.stop = m.t.start(s.r)
			return true
		}
	}
	return false
}

func (m *keyModel) leave() bool {
	run := m.running()
	if len(run) > 0 {
		m.stop(run[m.rng.IntN(len(run))])
	}
	return len(run) > 0
}

func (m *keyModel) stop(s *keySlot) {
	m.t.mustStop(s.stop)
	s.stop = nil
}

// trapped is a hand-over that waits inside of the publisher.
type trapped struct {
	s    *keySlot
	msg  relay.Message
	open chan struct{}
}

// overtake declares a relay over while it is in the middle of a hand-over, and lets that end when another has taken over.
func (m *keyModel) overtake() bool {
	for len(m.running()) < 2 {
		m.join()
	}
	trap := make(chan *trapped, 1)
	m.mu.Lock()
	m.trap = trap
	m.mu.Unlock()
	list, _ := m.newEvents(5, true) // so that there is something to hand over
	m.free(&list[4])
	err := m.unblocked(func() error {
		_, err := m.t.tryWrite(m.t.o, list...)
		return err
	})
	if err != nil {
		m.t.Fatalf("write: %v", err)
	}
	var x *trapped
	if m.waits++; !holdsWithin(time.Duration(m.waits)*200*time.Millisecond, func() bool {
		select {
		case x = <-trap:
			return true
		default:
			return false
		}
	}) {
		m.mu.Lock()
		m.trap = nil
		m.mu.Unlock()
		select {
		case x = <-trap: // just now
			close(x.open)
		default: // not yet: there is more time for it when it is tried again
		}
		return false
	}
	m.waits = 0
	defer close(x.open)
	name := owners.PartitionName(partitionOf(x.msg))
	var id string
	err = m.t.db.QueryRowContext(m.t.ctx(), m.t.sql.SQL(`SELECT owner FROM {leases} WHERE name = ? AND token = ?`), name, x.msg.Token).Scan(&id)
	if err != nil {
		m.t.Errorf("event %s is handed over under token %d, which %s has not: %v", x.msg.ID, x.msg.Token, name, err)
		return false
	}
	m.mu.Lock()
	m.wins[partitionToken{partitionOf(x.msg), x.msg.Token}].over = true
	m.mu.Unlock()
	m.t.exec(`UPDATE {relays} SET until_ms = 1, seen_ms = 1 WHERE id = ? AND order_name = 'per_key'`, id)
	m.t.eventually("another takes over", func() bool {
		return m.t.number(`SELECT COUNT(*) FROM {leases} WHERE name = ? AND token > ?`, name, x.msg.Token) == 1
	})
	passes(m.t, time.Duration(m.rng.IntN(20))*time.Millisecond)
	return true
}
