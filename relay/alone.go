package relay

import (
	"context"
	"database/sql"
	"errors"
	"strings"

	"github.com/sqloutbox/sqloutbox/dialect"
	"github.com/sqloutbox/sqloutbox/internal/txn"
)

// errNeedsTx ends a turn that has begun without a transaction and needs one.
var errNeedsTx = errors.New("a transaction is needed")

// aloneReader runs queries one by one, each by itself, for a turn that may have nothing to write.
type aloneReader struct {
	*sql.DB
	lock string
}

func (a aloneReader) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	if strings.Contains(query, a.lock) { // a lock would be gone with the statement
		return nil, errNeedsTx
	}
	return a.DB.QueryContext(ctx, query, args...)
}

func (aloneReader) ExecContext(context.Context, string, ...any) (sql.Result, error) {
	return nil, errNeedsTx
}
func (aloneReader) Commit() error   { return errNeedsTx }
func (aloneReader) Rollback() error { return errNeedsTx }

// turnAlone is a turn of an idle relay in two round trips, where a transaction takes five: it reads, and then notes what it
// has found in one statement, which is committed by itself. In READ COMMITTED both are the same: each statement sees what is
// committed when it begins, and the fence says whether the events were the relay's all the time.
func (s *session) turnAlone(ctx context.Context, work func(ctx context.Context, tx dialect.Tx) (bool, error)) (noted bool, err error) {
	if _, err := work(ctx, aloneReader{s.r.db, s.r.d.Lock()}); err != nil {
		return false, err
	}
	if s.noting.encode() == s.noted.encode() {
		return false, nil
	}
	err = s.passFence(ctx, s.r.db)
	switch {
	case err == nil, errors.Is(err, ErrLeaseLost):
		return true, err
	case s.r.d.Classify(err) == dialect.Conflict:
		return false, errNeedsTx // it did not happen
	}
	return false, &txn.UnknownError{Err: err}
}
