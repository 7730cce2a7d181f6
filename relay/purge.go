package relay

import (
	"context"
	"errors"
	"sync"

	"github.com/sqloutbox/sqloutbox/dialect"
	"github.com/sqloutbox/sqloutbox/internal/txn"
	"github.com/sqloutbox/sqloutbox/outbox"
)

func isReadOnly(c dialect.Class) bool { return c == dialect.ReadOnly }

// startPurge deletes what is too old now and then, and the rows of relays that died; stop ends it and waits. It is on
// a timer of its own, so that it happens under load too, and any number of relays may do it at once.
func (r *Relay) startPurge(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() {
		for ctx.Err() == nil {
			r.purge(ctx)
			sleep(ctx, jitter(r.opts.PurgeEvery))
		}
	})
	return func() {
		cancel()
		wg.Wait()
	}
}

func (r *Relay) purge(ctx context.Context) {
	if r.opts.Retention > 0 || r.opts.DeadRetention > 0 {
		n, err := r.own.Purge(ctx, outbox.PurgeOptions{Published: r.opts.Retention, Dead: r.opts.DeadRetention})
		if err != nil && ctx.Err() == nil {
			r.log.Warn("purge failed; it is tried again later", "deleted", n, "error", err)
		}
	}
	if err := r.sweep(ctx); err != nil && ctx.Err() == nil {
		r.log.Warn("rows of dead relays could not be deleted", "error", err)
	}
}

// sweep deletes the rows of relays that gave no sign of life for a lease after theirs was over.
func (r *Relay) sweep(ctx context.Context) error {
	lease := r.opts.Lease.Milliseconds()
	ids, err := r.queryIDs(ctx, deadRelays, lease)
	if err != nil {
		return err
	}
	for _, id := range ids {
		if _, err := r.exec(ctx, deleteDead, id, lease); err != nil {
			return err
		}
	}
	return r.sweepCrashes(ctx)
}

// sweepCrashes deletes the rows of crashes whose suspects are all through; most are gone by then.
func (r *Relay) sweepCrashes(ctx context.Context) error {
	ids, err := r.queryIDs(ctx, crashes)
	if err != nil {
		return err
	}
	for _, id := range ids {
		err := txn.Run(ctx, r.db, r.d, func(tx dialect.Tx) error { return r.closeCrash(ctx, tx, id) })
		if err != nil {
			return err
		}
	}
	return nil
}

func (r *Relay) queryIDs(ctx context.Context, statement string, args ...any) ([]string, error) {
	rows, err := r.db.QueryContext(ctx, r.sql.SQL(statement), args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var ids []string
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, errors.Join(rows.Err(), rows.Close())
}
