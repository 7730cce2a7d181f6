package conformance

import (
	"database/sql"
	"sync"
	"time"

	"github.com/sqloutbox/sqloutbox/internal/hookdb"
	"github.com/sqloutbox/sqloutbox/relay"
)

func handlerIsolationRules() []rule {
	return []rule{
		{"a late owner has no effect though its transaction is stricter than it need be", func(t *env) {
			handlerLateSnapshot(t, &sql.TxOptions{Isolation: sql.LevelRepeatableRead})
		}},
		{"a late owner has no effect though the database's default isolation is strict", func(t *env) {
			if t.dialect().Name() == "postgres" { // MySQL's and MariaDB's is
				var name string
				if err := t.db.QueryRowContext(t.ctx(), "SELECT current_database()").Scan(&name); err != nil {
					t.Fatal(err)
				}
				if _, err := t.db.ExecContext(t.ctx(), `ALTER DATABASE "`+name+`" SET default_transaction_isolation = 'repeatable read'`); err != nil {
					t.Fatal(err)
				}
			}
			handlerLateSnapshot(t, nil)
		}},
	}
}

// While the late one is about to run a handler, the other owner, which has run it, settles the event: the record and the
// event go in one transaction, whose end the late one waits for with a snapshot from before.
func handlerLateSnapshot(t *env, opts *sql.TxOptions) {
	if t.oneWriter() {
		return // nobody waits with a snapshot
	}
	c := t.crew()
	inside, open, answered := make(chan struct{}), make(chan struct{}), make(chan struct{})
	once := sync.OnceFunc(func() {
		close(inside)
		<-open
	})
	hasWaited := sync.OnceFunc(func() { close(answered) })
	on := func(do func()) func(query string) error {
		return func(query string) error {
			if isRecord(query) {
				do()
			}
			return nil
		}
	}
	db := t.hooked(hookdb.Hooks{Before: on(once), After: on(hasWaited)})
	t.write(events("e", 1)...)
	stop := t.start(c.with(t.o, quick(relay.OrderPerKey), &relay.HandlersOptions{DB: db, TxOptions: opts}, c.one("a", nil)))
	await(t, "the late one's record", inside)
	t.exec(`INSERT INTO {deliveries} (seq, handler, state) SELECT seq, 'a', 1 FROM {events}`)
	tx := t.begin(t.db)
	for _, text := range []string{`DELETE FROM {events}`, `DELETE FROM {deliveries}`} {
		if _, err := tx.ExecContext(t.ctx(), t.sql.SQL(text)); err != nil {
			t.Fatal(err)
		}
	}
	close(open)
	passes(t, 300*time.Millisecond) // what it would need if it did not wait
	select {
	case <-answered:
		t.Error("it did not wait for the other's record")
	default:
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	await(t, "the late one goes on", answered)
	_ = stop() // once it is through with the event
	c.wantCalls("a late owner", map[string]int{"a": 0})
	c.wantEffects("a late owner", map[string]int{"a": 0})
}
