package relay

import (
	"context"
	"database/sql"
	"time"

	"github.com/sqloutbox/sqloutbox/dialect"
)

// oneWriter is the dialect of an engine with one writer, for a relay whose handlers write in this process. A transaction of
// the relay's would wait for a handler's in the database, on a connection that the handler may need to go on: so it waits
// here, without one.
type oneWriter struct {
	dialect.Dialect
	room chan struct{} // of the one that writes
}

func (d oneWriter) Begin(ctx context.Context, db *sql.DB) (dialect.Tx, error) {
	leave, err := enter(ctx, d.room)
	if err != nil {
		return nil, err
	}
	tx, err := d.Dialect.Begin(ctx, db)
	if err != nil {
		leave()
		return nil, err
	}
	return &writerTx{tx, leave}, nil
}

// What a dialect may have besides for a relay is handed through: embedding the interface hides it.
var _ interface {
	dialect.KeyRanges
	dialect.RowFilter
	dialect.SeqBelower
} = oneWriter{}

func (d oneWriter) ChangesRangesAlone() bool {
	k, ok := d.Dialect.(dialect.KeyRanges)
	return ok && k.ChangesRangesAlone()
}

func (d oneWriter) FiltersRows() bool {
	f, ok := d.Dialect.(dialect.RowFilter)
	return ok && f.FiltersRows()
}

// SeqBelow is SeqBehind, which knows no floor, where the dialect has nothing better.
func (d oneWriter) SeqBelow(ctx context.Context, db *sql.DB, table string, floor int64) (mend string, err error) {
	if b, ok := d.Dialect.(dialect.SeqBelower); ok {
		return b.SeqBelow(ctx, db, table, floor)
	}
	return d.SeqBehind(ctx, db, table)
}

// noting is how long a note of what became of a handler may take: what was done outside and not noted is done again. With one
// writer it stands behind a handler's transaction, which has a quarter of the Lease, perhaps twice where it is tried again, and
// behind what the host writes before each. Once a Lease is over nothing could be renewed meanwhile either.
func (h *Handlers) noting() time.Duration {
	if h.oneWriter() {
		return max(h.relay.opts.Lease, h.relay.bookkeeping())
	}
	return h.relay.bookkeeping()
}

type writerTx struct {
	dialect.Tx
	leave func()
}

func (tx *writerTx) Commit() error {
	defer tx.leave()
	return tx.Tx.Commit()
}

func (tx *writerTx) Rollback() error {
	defer tx.leave()
	return tx.Tx.Rollback()
}
