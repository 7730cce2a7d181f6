package relay

import (
	"context"
	"database/sql"

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
