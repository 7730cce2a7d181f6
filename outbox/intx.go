package outbox

import (
	"context"
	"database/sql"
	"fmt"
)

// InTx runs fn in a transaction of the host's pool, commits it and wakes the relays of this process. If fn returns an
// error or panics the transaction is rolled back and nothing of it stays. Before it commits it asks once more whether
// the transaction is still open, so that one which ended behind fn's back is ErrNoTransaction and not half a change. So is
// one that fn has ended itself, which it must not do: what it has committed stays.
//
// It never runs fn twice: whether that is safe only the host knows.
func (o *Outbox) InTx(ctx context.Context, fn func(ctx context.Context, tx *sql.Tx) error) error {
	tx, err := o.db.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("in tx: begin: %w", err)
	}
	// After Commit this does nothing; after a panic or runtime.Goexit it is what ends the transaction.
	defer func() { _ = tx.Rollback() }()
	if err := fn(ctx, tx); err != nil {
		return err
	}
	if !o.opts.SkipTxCheck {
		if err := o.checkOpen(ctx, tx); err != nil {
			return fmt.Errorf("in tx: before commit: %w", err)
		}
	}
	if err := tx.Commit(); o.ended(err) {
		return fmt.Errorf("in tx: commit: %w: %w", ErrNoTransaction, err)
	} else if err != nil {
		return fmt.Errorf("in tx: commit: %w", err)
	}
	o.Wake()
	return nil
}
