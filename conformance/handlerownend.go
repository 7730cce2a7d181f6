package conformance

import (
	"context"
	"database/sql"
	"strings"

	"github.com/sqloutbox/sqloutbox/relay"
)

func handlerOwnEndRules() []rule {
	return inEach("a handler that ends its transaction by a commit and then does not succeed is dead at once, whatever it answers", handlerCommitsAndFails)
}

// What it had written by then stays, so that a retry would have its effects twice.
func handlerCommitsAndFails(t *env, order relay.Order) {
	ends := map[string]func(ctx context.Context, tx *sql.Tx) error{
		"Commit": func(_ context.Context, tx *sql.Tx) error { return tx.Commit() },
		"COMMIT": func(ctx context.Context, tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, "COMMIT")
			return err
		},
	}
	if name := t.dialect().Name(); name == "mysql" || name == "mariadb" {
		ends["DDL"] = func(ctx context.Context, tx *sql.Tx) error { // commits by itself
			_, err := tx.ExecContext(ctx, "CREATE TABLE IF NOT EXISTS conformance_host (id BIGINT)")
			return err
		}
	}
	answers := map[string]func() error{
		"fails":          func() error { return errNo },
		"panics":         func() error { panic("boom") },
		"rejects":        func() error { return relay.Reject(errNo) },
		"is unavailable": func() error { return relay.Unavailable(errNo) },
	}
	for end, commit := range ends {
		for answer, fn := range answers {
			what := end + ", " + answer
			c := t.crew()
			id := t.write(events("e", 1)...)[0]
			t.runUntilSettled(c.with(t.o, quick(order), nil, c.one(what, func(ctx context.Context, tx *sql.Tx, _ relay.Message) error {
				if err := commit(ctx, tx); err != nil {
					t.Errorf("%s: %v", what, err)
				}
				return fn()
			})), 1)
			c.wantCalls(what, map[string]int{what: 1})
			c.wantEffects(what, map[string]int{what: 1})
			if text := t.record(id).lastError; !strings.Contains(text, relay.ErrHandlerEndedTx.Error()) {
				t.Errorf("%s: last_error %q", what, text)
			}
			if d := t.deliveries()[what]; d.state != 4 || d.attempts != 1 {
				t.Errorf("%s: record %+v, want that it is dead", what, d)
			}
			t.empty(t)
		}
	}
}
