package relay

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/sqloutbox/sqloutbox/dialect"
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
		n, err := r.o.Purge(ctx, outbox.PurgeOptions{Published: r.opts.Retention, Dead: r.opts.DeadRetention})
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
	rows, err := r.db.QueryContext(ctx, r.sql.SQL(deadRelays), lease)
	if err != nil {
		return err
	}
	defer rows.Close()
	var ids []string
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			return err
		}
		ids = append(ids, id)
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return err
	}
	for _, id := range ids {
		if _, err := r.exec(ctx, deleteDead, id, lease); err != nil {
			return err
		}
	}
	return r.sweepCrashes(ctx)
}

// sweepCrashes deletes the rows of crashes whose suspects are all through.
func (r *Relay) sweepCrashes(ctx context.Context) error {
	rows, err := r.db.QueryContext(ctx, r.sql.SQL(crashes))
	if err != nil {
		return err
	}
	defer rows.Close()
	notes := make(map[string]string)
	for rows.Next() {
		var id, note string
		if err := rows.Scan(&id, &note); err != nil {
			return err
		}
		notes[id] = note
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return err
	}
	for id, note := range notes {
		var c crash
		if err := json.Unmarshal([]byte(note), &c); err != nil {
			return fmt.Errorf("decode crash %s: %w", id, err)
		}
		left := 0
		for part := range slicesOf(c.Suspects, maxBatch/2) {
			var n int
			text, args := r.listArgs(countSuspects, part, nil, []any{markSuspect + id})
			if err := queryRow(ctx, r.db, text, args, &n); err != nil {
				return err
			}
			left += n
		}
		if left == 0 {
			if _, err := r.exec(ctx, deleteRelay, id); err != nil {
				return err
			}
		}
	}
	return nil
}
