package relay

import (
	"context"
	"slices"
	"time"

	"github.com/sqloutbox/sqloutbox/dialect"
	"github.com/sqloutbox/sqloutbox/internal/owners"
	"github.com/sqloutbox/sqloutbox/internal/rows"
)

// perKey works on a share of the partitions, Concurrency keys at a time.
func (r *Relay) perKey(ctx context.Context, s *session, m mode) (int, error) {
	k := newKeySource(s)
	s.own(0, s.registered)
	s.look, s.rest = k.lookAround, k.rest
	n, err := r.untilOver(ctx, s, m, func() (pass, error) {
		if s.deadline.Over() {
			return pass{}, ErrLeaseLost
		}
		p, err := r.roll(ctx, s, k, m)
		if err == nil && m == dry && p.dry && p.wait > 0 {
			p.wait, err = k.stillDue(ctx, p.wait)
		}
		return p, err
	})
	return n, r.besideStuck(err)
}

// keySource is the outbox as one of several relays works on it, each on a share of the partitions. What stands in
// nobody's way is pending; what must wait, and what stands behind it in its key, is put aside by its state, so that a
// look finds only what can be handed over:
//
//	5  failed, until its next try; 6  its topic is paused
//	4  behind another event of its key, in a group of its own (see held.go)
type keySource struct {
	*session
	partitions map[int64]int64      // partitions, with their tokens
	leaving    map[int64]bool       // of these: to be given back, and not read any more
	fresh      map[int64]bool       // of these: not read yet, since what holds their keys is looked for first
	foundTo    foundTo              // how far that has come
	taken      map[int64]*event     // in hand, by seq
	keysInHand map[string]keyInHand // of the turn under way
	unsure     bool                 // what is owned must be read anew
	mountains  mountains
	mayHold    bool          // there may be held keys in the partitions
	stale      []blocker     // held by nothing any more
	heldTo     int64         // how far the search for stale ones has come
	held       bool          // it has met a holder in the partitions
	fitted     time.Duration // when misfits were looked for last, by r.now().Mono
}

func newKeySource(s *session) *keySource {
	return &keySource{
		session: s, partitions: make(map[int64]int64), leaving: make(map[int64]bool), fresh: make(map[int64]bool),
		taken: make(map[int64]*event), keysInHand: make(map[string]keyInHand), mountains: mountains{keys: make(map[string]bool)},
	}
}

func (*keySource) keep(context.Context, *hand) {} // signs of life have a goroutine of their own

// turn records outcomes, lets go of what they held, takes more, and gives back partitions that another is to have.
func (s *keySource) turn(ctx context.Context, t *turn) error {
	err := s.fencedTurn(ctx, t, func(ctx context.Context, tx dialect.Tx) (bool, error) { return s.work(ctx, tx, t) })
	if err != nil {
		s.unsure, s.looked = true, 0 // it may have given back partitions all the same: look before the next turn
		return err
	}
	s.stale = nil
	for _, x := range t.ended {
		delete(s.taken, x.e.msg.Seq)
	}
	if t.empty {
		clear(s.taken)
	}
	for _, e := range t.batch {
		s.taken[e.msg.Seq] = e
	}
	if len(t.freed) > 0 {
		s.r.log.Info("partitions given back", "relay", s.id, "partitions", len(t.freed), "owned", len(s.partitions)-len(t.freed))
	}
	for _, p := range t.freed {
		delete(s.partitions, p)
		delete(s.leaving, p)
		s.gave(owners.PartitionName(p), nil)
	}
	return nil
}

func (s *keySource) work(ctx context.Context, tx dialect.Tx, t *turn) (wrote bool, err error) {
	if err := s.r.settle(ctx, tx, t.ended, s.record); err != nil {
		return false, err
	}
	if wrote, err = s.letGo(ctx, tx, t.ended); err != nil {
		return false, err
	}
	stale, err := s.letGoStale(ctx, tx)
	if err != nil {
		return false, err
	}
	wrote = wrote || stale
	left := s.left(t)
	partitions, one := s.oneRange()
	if one {
		s.beginTail(t, partitions)
	}
	if t.room > 0 && !s.pauses.all() && len(s.partitions) > len(s.leaving) {
		read, err := s.read(ctx, tx, t, left)
		if err != nil {
			return false, err
		}
		levelled, err := s.level(ctx, tx, t, left)
		if err != nil {
			return false, err
		}
		wrote = wrote || read || levelled
	}
	s.handOut(t, left)
	freed, err := s.giveBack(ctx, tx, t, left)
	if one {
		s.endTail(t, left)
	}
	return wrote || freed, err
}

// rest waits while the destination is down. Others may come meanwhile and have their share.
func (s *keySource) rest(ctx context.Context, d time.Duration) {
	for end := s.r.now().Mono + min(d, longest); ctx.Err() == nil && !s.isLost(); {
		left := end - s.r.now().Mono
		if left <= 0 {
			return
		}
		s.r.waitFor(ctx, s.session, min(left, jitter(s.r.opts.PollMax)), false)
		_, err := s.lookAround(ctx)
		if err == nil && len(s.leaving) > 0 {
			keep, cancel := s.r.detached(ctx, s.session)
			err = s.turn(keep, &turn{empty: true})
			cancel()
		}
		if err != nil && ctx.Err() == nil {
			s.r.log.Warn("look around while resting failed", "error", err)
		}
	}
}

// record writes outcomes. An event that failed is put aside until its next try, and holds its key until it is through.
func (s *keySource) record(ctx context.Context, tx dialect.Tx, all []ended) error {
	if !slices.ContainsFunc(all, func(x ended) bool { return x.o.verdict != published }) {
		return s.r.record(ctx, tx, all)
	}
	var plain []ended
	var holds []*event
	for _, x := range all {
		switch x.o.verdict {
		case published:
			plain = append(plain, x)
		case failed:
			_, err := rows.Exec(ctx, tx, s.r.sql.SQL(waitFailed), partitionOf(x.e), x.o.wait.Milliseconds(), errorText(x.o.err), x.e.msg.Seq)
			if err != nil {
				return err
			}
			holds = append(holds, x.e)
		case postponed:
			if err := s.postpone(ctx, tx, x); err != nil {
				return err
			}
			holds = append(holds, x.e)
		case dead:
			plain = append(plain, x)
			if s.r.opts.OnDead == HoldKey {
				holds = append(holds, x.e)
			}
		}
	}
	if err := s.r.record(ctx, tx, plain); err != nil {
		return err
	}
	return s.hold(ctx, tx, holds)
}

// postpone puts an event aside that is not charged.
func (s *keySource) postpone(ctx context.Context, tx dialect.Tx, x ended) error {
	_, err := rows.Exec(ctx, tx, s.r.sql.SQL(postpone), partitionOf(x.e), x.o.wait.Milliseconds(), errorText(x.o.err), x.e.msg.Seq)
	if err != nil {
		return err
	}
	return s.r.wakeIfServed(ctx, tx, x)
}

// stillDue tells "nothing is due" from "due by now" and "due, but in another relay's partitions, or locked": wait is 0 then.
func (s *keySource) stillDue(ctx context.Context, wait time.Duration) (time.Duration, error) {
	saw, err := s.lookAround(ctx)
	for err == nil && saw.pending > 0 && s.mayHold && s.heldTo != 0 { // all holders, before nothing is said to be due
		if err = s.findStale(ctx); len(s.stale) > 0 {
			saw.pending = 0
		}
	}
	if err == nil && !saw.due() {
		saw, err = s.probeNow(ctx)
	}
	if saw.due() {
		wait = 0
	}
	return wait, err
}
