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

// refusesAfterError reports whether a failed statement makes the engine refuse all further ones until the rollback. Only
// there may InTransaction answer without asking.
func (t *env) refusesAfterError() bool {
	tx := t.begin(t.another())
	defer tx.Rollback()
	if _, err := tx.ExecContext(t.ctx(), `INSERT INTO conformance_missing VALUES (1)`); err == nil {
		t.Fatal("a missing table took a row")
	}
	_, err := tx.ExecContext(t.ctx(), `INSERT INTO conformance_host VALUES (77, 0)`)
	return err != nil
}

// The engine's own ROLLBACK ends the transaction behind the back of *sql.Tx, as a deadlock or an interrupt does.
func ghostEnded(t *env) {
	if t.refusesAfterError() {
		return
	}
	tx := t.begin(t.another())
	if err := writeWithChange(t, t.o, tx, 1); err != nil {
		t.Fatal(err)
	}
	if _, err := tx.ExecContext(t.ctx(), "ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	if open, err := t.dialect().InTransaction(t.ctx(), tx); open || err != nil {
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
	if err == nil {
		t.Error("Write went on after a deadlock")
	} else if !t.refusesAfterError() && !errors.Is(err, outbox.ErrNoTransaction) {
		t.Errorf("got %v, want outbox.ErrNoTransaction", err)
	}
	_ = victim.Rollback()
	if all := t.records(); len(all) != 0 {
		t.Errorf("a ghost:%s", describe(all))
	}
}

func ghostInTx(t *env) {
	if t.refusesAfterError() {
		return
	}
	err := t.o.InTx(t.ctx(), func(ctx context.Context, tx *sql.Tx) error {
		if err := writeWithChange(t, t.o, tx, 1); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, "ROLLBACK"); err != nil {
			return err
		}
		return nil
	})
	if !errors.Is(err, outbox.ErrNoTransaction) {
		t.Errorf("got %v, want outbox.ErrNoTransaction", err)
	}
	t.wantAtomic(0, 0)
}
