package relay

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/sqloutbox/sqloutbox/dialect"
	"github.com/sqloutbox/sqloutbox/internal/rows"
)

// readTotal reads the next events in the order of the whole outbox into t: what stands before the first that must wait,
// and how long that one has to, if it is at the head. It reads all that is pending but for what is in hand, or reads on, so
// that what committed late or was requeued is overtaken by nothing else. t.more means that there was no room for
// all.
func (s totalSource) readTotal(ctx context.Context, tx dialect.Tx, t *turn, inHand []int64) (wrote bool, err error) {
	r := s.r
	holder := int64(math.MaxInt64)
	if r.opts.OnDead == HoldKey { // before what is pending: a dead letter that is requeued in between holds what is behind it
		if holder, err = r.firstDead(ctx, tx); err != nil {
			return false, err
		}
	}
	events, cut, done, err := s.readOn(ctx, tx, t, inHand, t.room)
	if err != nil {
		return false, fmt.Errorf("read on: %w", err)
	}
	if !done {
		t.looked = r.now().Mono
		text, args := r.sql.Aside(lookPending, 0, inHand)
		if events, cut, err = r.readEvents(ctx, tx, text, append(args, int64(t.room))); err != nil {
			return false, fmt.Errorf("read pending: %w", err)
		}
	}
	if len(events) == 0 {
		return false, nil
	}
	full := cut > 0 || len(events) == t.room
	t.cut = cut
	if i := slices.IndexFunc(events, func(e *event) bool { return e.msg.Seq > holder }); i == 0 {
		t.wait = r.opts.PollMax // held: only an operator's Requeue or Discard changes that
		return false, nil
	} else if i > 0 {
		events = events[:i]
	}
	batch, early, wait := sortOut(events)
	if len(early) > 0 {
		if err := r.execList(ctx, tx, park, early); err != nil {
			return false, fmt.Errorf("park delayed: %w", err)
		}
	}
	t.more, t.wait = full && len(batch)+len(early) == len(events), wait
	wrote, err = s.unclaimAll(ctx, tx, t, batch)
	return wrote || len(early) > 0, err
}

// unclaimAll frees what of the batch a relay in OrderNone left behind. What is given up for its crashes is not in
// t.batch, nor is what it holds.
func (s totalSource) unclaimAll(ctx context.Context, tx dialect.Tx, t *turn, batch []*event) (wrote bool, err error) {
	_, token := s.owned()
	for _, e := range batch {
		if e.claimant() != "" {
			wrote = true
			gone, err := s.r.unclaim(ctx, tx, e)
			switch {
			case err != nil:
				return wrote, err
			case gone && s.r.opts.OnDead == HoldKey:
				t.buried, t.more = append(t.buried, ended{e, outcome{verdict: dead, err: errCrashed}}), true
				return wrote, nil
			case gone:
				t.buried = append(t.buried, ended{e, outcome{verdict: dead, err: errCrashed}})
				continue
			}
		}
		e.msg.Token = token
		t.batch = append(t.batch, e)
	}
	return wrote, nil
}

// sortOut cuts events before the first that failed and is not due yet, and takes out those that are not due and were
// never tried.
func sortOut(events []*event) (batch []*event, early []int64, wait time.Duration) {
	for _, e := range events {
		switch {
		case e.wait() <= 0, e.neverDelayed():
			batch = append(batch, e)
		case e.msg.Attempt == 1:
			early = append(early, e.msg.Seq)
		case len(batch) == 0:
			return nil, early, e.wait()
		default:
			return batch, early, never
		}
	}
	return batch, early, never
}

// firstDead is the seq of the oldest dead letter, or higher than any.
func (r *Relay) firstDead(ctx context.Context, q rows.Queryer) (seq int64, err error) {
	err = rows.One(ctx, q, r.sql.SQL(oldestDead), nil, &seq)
	if errors.Is(err, sql.ErrNoRows) {
		return math.MaxInt64, nil
	}
	if err != nil {
		return 0, fmt.Errorf("find dead letters: %w", err)
	}
	return seq, nil
}
