package relay

import (
	"cmp"
	"context"
	"database/sql"
	"slices"

	"github.com/sqloutbox/sqloutbox/internal/clocks"
	"github.com/sqloutbox/sqloutbox/internal/delivery"
	"github.com/sqloutbox/sqloutbox/internal/rows"
	"github.com/sqloutbox/sqloutbox/internal/topics"
)

// What other processes have left to handlers of this one.
const (
	// Of the handlers that have something due, by the first entry of (handler, state, due_ms, seq) each.
	withOutstanding = `SELECT h.name, h.topics, {clock} FROM {handlers} h WHERE h.retired_ms = 0
AND EXISTS (SELECT 1 FROM {deliveries} d WHERE d.handler = h.name AND d.state = 0 AND d.due_ms <= (SELECT {clock}))
ORDER BY h.since_ms, h.name`

	// By (handler, state, due_ms, seq), a page at a time, and each event by primary key. due_ms >= ? is for the range; what
	// comes after it is for what is due at the same time. What holds the key of an event before it, by (event_key, seq).
	outstanding = `SELECT d.seq, d.attempts, d.settled_ms, d.since_ms, d.last_error, d.due_ms,
       COALESCE(e.topic, ''), COALESCE(e.event_key, ''), COALESCE(e.state, 1),
       CASE WHEN e.event_key <> '' AND EXISTS (SELECT 1 FROM {held} k WHERE k.event_key = e.event_key AND k.seq < e.seq) THEN 1 ELSE 0 END
FROM {deliveries} d LEFT JOIN {events} e ON e.seq = d.seq
WHERE d.handler = ? AND d.state = 0 AND d.due_ms <= (SELECT {clock}) AND d.due_ms >= ? AND (d.due_ms > ? OR d.seq > ?)
ORDER BY d.due_ms, d.seq LIMIT ?`

	// By primary key.
	dropOutstanding = `{delete_deliveries} WHERE seq = ? AND handler = ? AND state = 0`
)

// A look reads so many pages of a handler's deliveries, and the next one goes on behind them: there may be any number
// whose topics another release alone has. What was passed by has its turn when a look begins anew: that is once what was due at
// the beginning is looked through, whatever has become due since.
const (
	outstandingPage  = 200
	outstandingPages = 10
)

// left is a delivery that another process has left.
type left struct {
	n          need
	seq        int64
	due        int64 // ms by the database's clock
	topic, key string
	state      int64 // of the event
	behind     bool  // another event holds its key
	counted    int   // attempts, as the record has them
	no         claimNo
	renewed    clocks.Instant // when it was claimed or renewed last
}

// settled: the event was published, or deleted, meanwhile.
func (l *left) settled() bool { return l.state == 1 }

// crashedFirst: the first call of all ended its process, or will have if it is charged. That is known when its claim has lapsed.
func (l *left) crashedFirst() bool { return l.n.claim.lapsed() && l.counted == 1 }

// scope is what is run one at a time.
func (l *left) scope() string { return l.n.name + "\x00" + l.key }

// alone: nothing else may run in this process meanwhile. A claim that lapsed beside others needs to know its culprit, and so
// does the crash of what would be the last attempt.
func (h *Handlers) alone(l *left) bool {
	return l.n.claim.shared() || l.n.attempts+1 >= h.limit(l.n.own)
}

// deliveryMark is how far the looks have come through a handler's deliveries. They began at a time.
type deliveryMark struct{ due, seq, began int64 }

// finding is what a look has found.
type finding struct {
	most   int
	found  []*left // that may run beside others
	alone  *left   // one that must run alone, after these
	scopes map[string]bool
}

// full: what must run alone has a place too, and nothing begins beside it.
func (f *finding) full() bool { return len(f.found) == f.most || f.alone != nil }

// find finds at most so many deliveries for this process: some that may run beside others, and one that must run alone. The
// handler that has waited for longest comes first.
func (s *server) find(ctx context.Context, most int) (found []*left, alone *left, err error) {
	ctx, cancel := s.h.relay.bounded(ctx)
	defer cancel()
	all, err := s.outstandingHandlers(ctx)
	if err != nil || len(all) == 0 {
		return nil, nil, err
	}
	if s.pauses, err = s.h.relay.readPauses(ctx); err != nil || s.pauses.all() {
		return nil, nil, err
	}
	slices.SortStableFunc(all, func(a, b waiting) int { return cmp.Compare(s.last[a.name], s.last[b.name]) })
	s.looks++
	f := finding{most: most, scopes: make(map[string]bool)}
	for _, w := range all {
		if f.full() {
			break
		}
		before := len(f.found)
		if err := s.findOf(ctx, w, &f); err != nil {
			return nil, nil, err
		}
		if len(f.found) > before || f.alone != nil {
			s.last[w.name] = s.looks
		}
	}
	return f.found, f.alone, nil
}

// findOf finds deliveries of one handler, from where the last look came to.
func (s *server) findOf(ctx context.Context, w waiting, f *finding) error {
	mine := 0
	if from, on := s.looked[w.name]; !on || from.due > from.began {
		s.looked[w.name] = deliveryMark{began: w.now}
	}
	began := s.looked[w.name].began
	for range outstandingPages {
		page, over, err := s.page(ctx, w)
		if err != nil {
			return err
		}
		for _, l := range page {
			if w.own.full(mine) { // the next look goes on here
				return nil
			}
			s.looked[w.name] = deliveryMark{l.due, l.seq, began}
			if l.settled() {
				if _, err := s.h.relay.exec(ctx, dropOutstanding, l.seq, l.n.name); err != nil {
					return err
				}
				continue
			}
			if !s.wants(w, l) || l.key != "" && f.scopes[l.scope()] {
				continue
			}
			f.scopes[l.scope()] = true
			if s.h.alone(l) {
				f.alone = l
				return nil
			}
			mine++
			if f.found = append(f.found, l); f.full() {
				return nil
			}
		}
		if over {
			delete(s.looked, w.name) // the next look begins anew
			return nil
		}
	}
	return nil
}

// waiting is a handler of this process that others have left something to.
type waiting struct {
	name  string
	own   *handler
	takes topics.Set // as the database has them: without those that are retired
	now   int64      // ms by the database's clock
}

func (s *server) outstandingHandlers(ctx context.Context) (all []waiting, err error) {
	err = rows.Each(ctx, s.h.own, s.h.sql.SQL(withOutstanding), nil, func(row *sql.Rows) error {
		var w waiting
		var text []byte
		if err := row.Scan(&w.name, &text, &w.now); err != nil {
			return err
		}
		if w.own = s.h.called(w.name); w.own == nil {
			return nil
		}
		all = append(all, w)
		all[len(all)-1].takes, err = topics.Decode(text)
		return err
	})
	return all, err
}

// page is the next page of a handler's deliveries. over: it is the last one.
func (s *server) page(ctx context.Context, w waiting) (all []*left, over bool, err error) {
	from := s.looked[w.name]
	args := []any{w.name, from.due, from.due, from.seq, int64(outstandingPage)}
	err = rows.Each(ctx, s.h.own, s.h.sql.SQL(outstanding), args, func(row *sql.Rows) error {
		l := &left{n: need{name: w.name, shown: w.own.Name, own: w.own, have: true, served: true, state: delivery.Outstanding}}
		var claim, behind int64
		err := row.Scan(&l.seq, &l.counted, &claim, &l.n.since, &l.n.lastError, &l.due, &l.topic, &l.key, &l.state, &behind)
		if l.n.claimed(claimNo(claim), l.counted); l.crashedFirst() {
			l.n.since = l.due
		}
		if l.behind = behind > 0; s.h.relay.opts.Order == OrderNone {
			l.key = "" // it has no order
		}
		all = append(all, l)
		return err
	})
	return all, len(all) < outstandingPage, err
}

// wants reports whether this process can do something about a delivery now.
func (s *server) wants(w waiting, l *left) bool {
	const eventDead, eventPaused = 2, 6
	switch {
	case l.state == eventDead, l.state == eventPaused, s.pauses.has(l.topic), l.behind:
		return false // a requeue or Resume brings it back, and what holds its key goes first
	case !topics.Match(w.own.Topics, l.topic), !w.takes.Match(l.topic, l.seq):
		return false
	case s.h.running.has(l.seq, l.n.name), s.h.relay.stuck.holds(l.seq):
		return false
	}
	return l.key == "" || !s.busy(l.scope())
}
