package outbox

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/sqloutbox/sqloutbox/dialect"
)

// Whether the server knows the dialect's guard (see dialect.TxGuard).
const (
	guardUnknown = iota
	guardThere
	guardMissing
)

// open refuses a transaction that has ended behind the host's back, by asking, or leaves that to the INSERT that follows:
// guarded.
func (o *Outbox) open(ctx context.Context, tx dialect.Execer) (guarded bool, err error) {
	if o.opts.SkipTxCheck {
		return false, nil
	}
	g, ok := o.dialect.(dialect.TxGuard)
	if ok && o.guard.Load() == guardThere {
		return true, nil
	}
	if err := o.checkOpen(ctx, tx); err != nil || !ok || o.guard.Load() == guardMissing {
		return false, err
	}
	there, err := g.HasGuard(ctx, tx)
	if err != nil {
		return false, fmt.Errorf("check transaction: %w", err)
	}
	if there {
		o.guard.Store(guardThere)
	} else {
		o.guard.Store(guardMissing)
	}
	return false, nil
}

// checkOpen asks whether a transaction is open (see dialect.Dialect.InTransaction).
func (o *Outbox) checkOpen(ctx context.Context, tx dialect.Execer) error {
	open, err := o.dialect.InTransaction(ctx, tx)
	switch {
	case o.ended(err):
		return fmt.Errorf("%w: %w", ErrNoTransaction, err)
	case err != nil:
		return fmt.Errorf("check transaction: %w", err)
	case !open:
		return ErrNoTransaction
	}
	return nil
}

// ended reports whether err says that the transaction has ended: by the host's own Commit or Rollback, or by a statement that
// failed, where the engine then does nothing but roll back.
func (o *Outbox) ended(err error) bool {
	return errors.Is(err, sql.ErrTxDone) || o.dialect.Classify(err) == dialect.Aborted
}

// notOpen says what an INSERT's error means for the transaction. After one that means nothing to the library, whether the
// server knows the guard is asked anew: it may be another server now.
func (o *Outbox) notOpen(guarded bool, err error) error {
	if o.ended(err) {
		return fmt.Errorf("%w: %w", ErrNoTransaction, err)
	}
	if !guarded {
		return err
	}
	if o.dialect.(dialect.TxGuard).OutsideTx(err) {
		o.guard.Store(guardMissing) // it may be a session of another kind, where an open transaction is refused too: ask from now on
		return fmt.Errorf("%w: %w", ErrNoTransaction, err)
	}
	if o.dialect.Classify(err) == dialect.Other {
		o.guard.Store(guardUnknown)
	}
	return err
}
