package conformance

import (
	"context"
	"database/sql"
	"errors"

	"github.com/sqloutbox/sqloutbox/outbox"
)

func ghostRules() []rule {
	return []rule{
		{"an open transaction counts as open", ghostOpen},
		{"a transaction that ended unnoticed takes no event", ghostEnded},
		{"a swallowed deadlock leaves no ghost", ghostDeadlock},
		{"InTx refuses to commit what ended after Write", ghostInTx},
	}
}

func ghostOpen(t *env) {
	tx := t.begin(t.another())
	for range 3 {
		if open, err := t.dialect().InTransaction(t.ctx(), tx); !open || err != nil {
			t.Fatalf("an open transaction: %v, %v", open, err)
		}
	}
	if err := writeWithChange(t, t.o, tx, 1); err != nil {
		t.Fatal(err)
	}
	if open, err := t.dialect().InTransaction(t.ctx(), tx); !open || err != nil {
		t.Errorf("an open transaction that has written: %v, %v", open, err)
	}
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	t.wantAtomic(0, 0) // the question committed nothing
}

// endUnnoticed ends a transaction behind the back of *sql.Tx: by the engine's own ROLLBACK, as a deadlock or an interrupt
// does, or by a statement that fails, where the engine refuses all further ones until the rollback. Only there may
// InTransaction answer without asking.
func (t *env) endUnnoticed(tx *sql.Tx) (refuses bool) {
	t.Helper()
	if _, err := tx.ExecContext(t.ctx(), `INSERT INTO conformance_missing VALUES (1)`); err == nil {
		t.Fatal("a missing table took a row")
	}
	if _, err := tx.ExecContext(t.ctx(), `INSERT INTO conformance_host VALUES (77, 0)`); err != nil {
		return true
	}
	if _, err := tx.ExecContext(t.ctx(), "ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	return false
}

func ghostEnded(t *env) {
	tx := t.begin(t.another())
	if err := writeWithChange(t, t.o, tx, 1); err != nil {
		t.Fatal(err)
	}
	refuses := t.endUnnoticed(tx)
	if open, err := t.dialect().InTransaction(t.ctx(), tx); open != refuses || err != nil {
		t.Errorf("a transaction that has ended: %v, %v", open, err)
	}
	if _, err := t.o.Write(t.ctx(), tx, events("e", 1)...); !errors.Is(err, outbox.ErrNoTransaction) {
		t.Errorf("got %v, want outbox.ErrNoTransaction", err)
	}
	_ = tx.Rollback()
	t.wantAtomic(0, 0)
}

func ghostDeadlock(t *env) {
	if t.oneWriter() {
		t.Skip("one writer: no two transactions can wait for each other")
	}
	victim, err := t.deadlock()
	if err == nil {
		t.Fatal("no deadlock came about")
	}
	// The host goes on as if nothing had happened.
	_, err = t.o.Write(t.ctx(), victim, events("ghost", 1)...)
	if !errors.Is(err, outbox.ErrNoTransaction) {
		t.Errorf("got %v, want outbox.ErrNoTransaction", err)
	}
	_ = victim.Rollback()
	if all := t.records(); len(all) != 0 {
		t.Errorf("a ghost:%s", describe(all))
	}
}

func ghostInTx(t *env) {
	for how, end := range map[string]func(tx *sql.Tx){
		"unnoticed":   func(tx *sql.Tx) { t.endUnnoticed(tx) },
		"rolled back": func(tx *sql.Tx) { _ = tx.Rollback() },
	} {
		err := t.inTxThat(end)
		if !errors.Is(err, outbox.ErrNoTransaction) {
			t.Errorf("%s: got %v, want outbox.ErrNoTransaction", how, err)
		}
		t.wantAtomic(0, 0)
	}
	if err := t.inTxThat(func(tx *sql.Tx) { _ = tx.Commit() }); !errors.Is(err, outbox.ErrNoTransaction) {
		t.Errorf("committed: got %v, want outbox.ErrNoTransaction", err)
	}
	t.wantAtomic(3, 1) // by its own will
}

// inTxThat is an InTx whose function writes, and then ends the transaction and says nothing of it.
func (t *env) inTxThat(end func(tx *sql.Tx)) error {
	return t.o.InTx(t.ctx(), func(_ context.Context, tx *sql.Tx) error {
		if err := writeWithChange(t, t.o, tx, 1); err != nil {
			return err
		}
		end(tx)
		return nil
	})
}
