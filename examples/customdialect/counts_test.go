package customdialect_test

import (
	"context"
	"database/sql"
	"testing"

	"github.com/sqloutbox/sqloutbox/dialect"
	"github.com/sqloutbox/sqloutbox/dialect/sqlite"
	"github.com/sqloutbox/sqloutbox/examples/customdialect"
	"github.com/sqloutbox/sqloutbox/migrations"
	"github.com/sqloutbox/sqloutbox/outbox"
	"github.com/sqloutbox/sqloutbox/relay"
)

func TestItCountsTheRelaysTransactions(t *testing.T) {
	db, err := customdialect.Open(":memory:")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	d := customdialect.New()
	if err := migrations.Up(t.Context(), db, d, nil); err != nil {
		t.Fatal(err)
	}
	o, err := outbox.New(db, d, nil)
	if err != nil {
		t.Fatal(err)
	}
	err = o.InTx(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
		_, err := o.Write(ctx, tx, outbox.Event{Topic: "t"})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	before := d.Counts()
	if before.Begun != 0 {
		t.Errorf("%d transactions counted before a relay ran: a host's are not the library's own", before.Begun)
	}
	r, err := relay.New(o, relay.PublisherFunc(func(context.Context, relay.Message) error { return nil }), nil)
	if err != nil {
		t.Fatal(err)
	}
	if n, err := r.Drain(t.Context()); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	if after := d.Counts(); after.Begun == 0 || after.Waited <= 0 || after.Conflicts != 0 {
		t.Errorf("%+v after a drain, want transactions, a wait and no conflict", after)
	}
}

// A wrapper that hides what the wrapped dialect has besides overlooks a numbering that is behind.
func TestItHandsThroughWhatSQLiteHasBesides(t *testing.T) {
	var d, wrapped dialect.Dialect = customdialect.New(), sqlite.New()
	if is, has := optional(d), optional(wrapped); is != has {
		t.Errorf("it has KeyRanges, RowFilter, KeyLocker, TxGuard, SeqBelower: %v, and what it wraps: %v", is, has)
	}
}

func optional(d dialect.Dialect) (has [5]bool) {
	_, has[0] = d.(dialect.KeyRanges)
	_, has[1] = d.(dialect.RowFilter)
	_, has[2] = d.(dialect.KeyLocker)
	_, has[3] = d.(dialect.TxGuard)
	_, has[4] = d.(dialect.SeqBelower)
	return has
}

func TestItCountsConflicts(t *testing.T) {
	d := customdialect.New()
	file := t.TempDir() + "/busy.db?_pragma=busy_timeout(1)"
	a, err := customdialect.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	b, err := customdialect.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	tx, err := d.Begin(t.Context(), a)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	_, err = d.Begin(t.Context(), b)
	if err == nil {
		t.Fatal("two writers at once")
	}
	d.Classify(err)
	if got := d.Counts().Conflicts; got != 1 {
		t.Errorf("%d conflicts counted, want 1 (%v)", got, err)
	}
}
