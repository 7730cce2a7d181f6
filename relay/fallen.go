package relay

import (
	"context"
	"slices"
	"sync"

	"github.com/sqloutbox/sqloutbox/dialect"
	"github.com/sqloutbox/sqloutbox/internal/owners"
	"github.com/sqloutbox/sqloutbox/internal/rows"
	"github.com/sqloutbox/sqloutbox/internal/txn"
)

// A relay that gives no sign of life for a lease is fallen. Whoever sees it first takes its row away in one transaction
// with all that follows from it: what it had in hand, and what it owned. Should it come to life again, its outcomes
// find no row, and change nothing.
const (
	// A handful of rows.
	fallenRelays = `SELECT id FROM {relays} WHERE ` + owners.NoCrash + ` AND ` + owners.Over + ` ORDER BY id`

	// By primary key. The row is locked first and the clock read in the next statement.
	stillFallen = `SELECT COUNT(*) FROM {relays} WHERE id = ? AND ` + owners.NoCrash + ` AND ` + owners.Over

	// A handful of rows; no other lease than its own is changed.
	freeLeases = `UPDATE {leases} SET owner = '', until_ms = 0, version = version + 1 WHERE owner = ?`
)

// removeFallen takes away all relays that have fallen.
func (r *Relay) removeFallen(ctx context.Context) error {
	ids, err := rows.Column[string](ctx, r.db, r.sql.SQL(fallenRelays))
	if err != nil {
		return err
	}
	for _, id := range ids {
		if r.sessions.isCurrent(id) { // it will find out by itself
			continue
		}
		var buried []ended
		err := txn.Run(ctx, r.db, r.d, func(tx dialect.Tx) (err error) {
			buried, err = r.removeIfFallen(ctx, tx, id)
			return err
		})
		if err != nil {
			return err
		}
		r.tell(buried)
	}
	return nil
}

func (r *Relay) removeIfFallen(ctx context.Context, tx dialect.Tx, id string) ([]ended, error) {
	text, there, err := r.lockRelay(ctx, tx, id)
	if err != nil || !there { // another was faster
		return nil, err
	}
	var n int
	if err := rows.One(ctx, tx, r.sql.SQL(stillFallen), []any{id}, &n); err != nil || n == 0 {
		return nil, err
	}
	if _, err := rows.Exec(ctx, tx, r.sql.SQL(freeLeases), id); err != nil {
		return nil, err
	}
	return r.inheritFrom(ctx, tx, id, text)
}

// ownSessions are the sessions of this relay, the current one last. One may have ended without taking its row away, as
// when the database was gone for longer than a lease. What it had in hand is charged to nobody: the process lives.
type ownSessions struct {
	mu      sync.Mutex // guards ids and current
	ids     []string
	current string
}

// manySessions is more than can be of interest still: each took a lease to end.
const manySessions = 100

func (o *ownSessions) begin(id string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.ids, o.current = append(o.ids, id), id
	o.ids = o.ids[max(0, len(o.ids)-manySessions):]
}

func (o *ownSessions) end() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.current = ""
}

func (o *ownSessions) isCurrent(id string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.current == id
}

func (o *ownSessions) has(id string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Contains(o.ids, id)
}
