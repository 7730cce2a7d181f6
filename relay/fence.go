package relay

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/sqloutbox/sqloutbox/dialect"
	"github.com/sqloutbox/sqloutbox/internal/rows"
	"github.com/sqloutbox/sqloutbox/internal/txn"
)

// The fence: one row, by primary key. A late owner changes nothing here, and so its whole transaction is rolled back.
// version makes it a compare-and-swap, so that a commit of unknown outcome is not done twice.
const fence = `UPDATE {relays} SET in_hand = ?, version = version + 1 WHERE id = ? AND token = ? AND version = ?`

// fencedTurn runs one turn of an ordered relay. work records outcomes, takes what follows, and sets s.noting to what
// is in hand then; wrote is whether it changed anything besides. All of it happens, or nothing: another may own the
// events by now.
func (s *session) fencedTurn(ctx context.Context, t *turn, work func(ctx context.Context, tx dialect.Tx) (wrote bool, err error)) error {
	err := s.r.persist(ctx, s, t, func(ctx context.Context) error { return s.tryTurn(ctx, t, work) })
	if s.tail = t.tail; err != nil {
		s.tail = tail{}
	}
	if errors.Is(err, ErrLeaseLost) {
		s.r.refuse(countRecorded(t.ended))
		s.lose(err)
	}
	return err
}

func countRecorded(all []ended) int {
	n := int64(0)
	for _, x := range all {
		n += x.o.recorded()
	}
	return int(n)
}

// countLate is how many of the outcomes come when their events are no longer ours.
func countLate(all []ended) int {
	return countRecorded(slices.DeleteFunc(slices.Clone(all), func(x ended) bool { return !x.e.guard.Over() }))
}

func (s *session) tryTurn(ctx context.Context, t *turn, work func(ctx context.Context, tx dialect.Tx) (bool, error)) error {
	noted := false
	err := txn.Run(ctx, s.r.db, s.r.d, func(tx dialect.Tx) error {
		if s.unknown != nil {
			happened, err := s.happened(ctx, tx)
			switch {
			case err != nil:
				return err
			case happened && s.unknown == t:
				noted = true
				return nil
			case happened:
				s.version, s.noted = s.version+1, s.noting
			}
			s.unknown = nil
		}
		wrote, err := work(ctx, tx)
		if err != nil {
			return err
		}
		noted = wrote || len(t.ended) > 0 || s.noting.encode() != s.noted.encode()
		if !noted {
			return nil // nothing to say: an idle look writes nothing
		}
		return s.passFence(ctx, tx)
	})
	if txn.IsUnknown(err) {
		s.unknown = t
	}
	if err != nil {
		return err
	}
	if noted {
		s.version++
	}
	s.noted, s.unknown = s.noting, nil
	return nil
}

// happened tells, after a commit whose outcome was unknown, whether it did happen.
func (s *session) happened(ctx context.Context, tx dialect.Tx) (bool, error) {
	text, version, err := s.lockRow(ctx, tx)
	if err != nil {
		return false, err
	}
	return version == s.version+1 && text == s.noting.encode(), nil
}

// passFence notes what is in hand in the relay's row, or finds that the row is another's or gone by now.
func (s *session) passFence(ctx context.Context, tx dialect.Tx) error {
	_, token := s.owned()
	n, err := rows.Exec(ctx, tx, s.r.sql.SQL(fence), s.noting.encode(), s.id, token, s.version)
	if err == nil && n == 0 {
		err = fmt.Errorf("%w: another relay has taken over", ErrLeaseLost)
	}
	return err
}

// left is what is still in hand when the turn's outcomes are recorded. It empties the turn for what it will find.
func (s *session) left(t *turn) inHand {
	t.batch, t.buried, t.more, t.alone, t.cut, t.wait = nil, nil, false, false, 0, never
	t.tail, t.looked = tail{}, 0
	if t.empty {
		return inHand{}
	}
	return s.noted.after(t.ended)
}

// handOut settles what of the batch goes into hand beside left.
func (s *session) handOut(t *turn, left inHand) {
	t.batch, t.alone = s.r.choose(t.batch, t.empty)
	t.more = t.more || t.alone
	for _, e := range t.batch {
		e.guard = &s.deadline
	}
	s.noting = left.with(t.batch, t.alone && t.empty)
}
