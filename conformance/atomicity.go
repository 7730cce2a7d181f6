package conformance

import (
	"context"
	"database/sql"
	"errors"
	"runtime"

	"github.com/sqloutbox/sqloutbox/outbox"
)

func atomicityRules() []rule {
	return []rule{
		{"a committed transaction leaves its event and its change", atomicCommit},
		{"a rolled back transaction leaves no event", atomicRollback},
		{"an open transaction shows no event", atomicOpen},
		{"InTx leaves nothing of a function that fails, panics or exits", inTxFails},
		{"a transaction that fails half-way leaves nothing", atomicHalf},
	}
}

func writeWithChange(t *env, o *outbox.Outbox, tx *sql.Tx, n int64) error {
	if _, err := tx.ExecContext(t.ctx(), t.sql.SQL(`INSERT INTO conformance_host VALUES (?, 0)`), n); err != nil {
		return err
	}
	_, err := o.Write(t.ctx(), tx, events("e", 3)...)
	return err
}

func (t *env) wantAtomic(events, changes int64) {
	t.Helper()
	if n := t.number(`SELECT COUNT(*) FROM {events}`); n != events {
		t.Errorf("%d events, want %d", n, events)
	}
	if n := t.number(`SELECT COUNT(*) FROM conformance_host`); n != changes {
		t.Errorf("%d changes, want %d", n, changes)
	}
}

func atomicCommit(t *env) {
	tx := t.begin(t.another())
	if err := writeWithChange(t, t.o, tx, 1); err != nil {
		t.Fatal(err)
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	t.wantAtomic(3, 1)
}

func atomicRollback(t *env) {
	tx := t.begin(t.another())
	if err := writeWithChange(t, t.o, tx, 1); err != nil {
		t.Fatal(err)
	}
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	t.wantAtomic(0, 0)
	p := &receiver{}
	if n := t.drain(t.relay(p, nil)); n != 0 || len(p.ids()) != 0 {
		t.Errorf("%d events were published", n)
	}
}

func atomicOpen(t *env) {
	tx := t.begin(t.another())
	if err := writeWithChange(t, t.o, tx, 1); err != nil {
		t.Fatal(err)
	}
	t.wantAtomic(0, 0)
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	t.wantAtomic(3, 1)
}

func inTxFails(t *env) {
	broken := errors.New("no")
	for name, end := range map[string]func() error{
		"fails":  func() error { return broken },
		"panics": func() error { panic("no") },
		"exits":  func() error { runtime.Goexit(); return nil },
	} {
		done := make(chan struct{})
		go func() {
			defer close(done)
			defer func() { _ = recover() }()
			err := t.o.InTx(t.ctx(), func(ctx context.Context, tx *sql.Tx) error {
				if err := writeWithChange(t, t.o, tx, 1); err != nil {
					t.Error(err)
				}
				return end()
			})
			if !errors.Is(err, broken) {
				t.Errorf("%s: got %v, want the function's error", name, err)
			}
		}()
		await(t, "the function ends", done)
		t.wantAtomic(0, 0)
	}
}

func atomicHalf(t *env) {
	t.write(outbox.Event{ID: "e-2", Topic: "taken"})
	tx := t.begin(t.another())
	if err := writeWithChange(t, t.o, tx, 1); !errors.Is(err, outbox.ErrDuplicate) {
		t.Errorf("got %v, want outbox.ErrDuplicate", err)
	}
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	t.wantAtomic(1, 0)
}
