package fleet

import (
	"database/sql"
	"testing"
	"time"

	"github.com/sqloutbox/sqloutbox/internal/engines"
	"github.com/sqloutbox/sqloutbox/outbox"
)

// SQLite is safe against late commits only since it has one writer: the order of insertion is that of the commits.
func TestOnSQLiteTheSecondWriterWaits(t *testing.T) {
	d := newDatabase(t, engines.One(t, "sqlite"))
	first, err := d.DB().BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.Write(t.Context(), first, outbox.Event{Topic: "t"}); err != nil {
		t.Fatal(err)
	}
	began := make(chan *sql.Tx, 1)
	go func() {
		defer close(began)
		second, err := d.DB().BeginTx(t.Context(), nil)
		if err != nil {
			t.Error(err)
			return
		}
		began <- second
	}()
	select {
	case <-began:
		t.Fatal("a second writer began while the first was open")
	case <-time.After(200 * time.Millisecond):
	}
	if err := first.Commit(); err != nil {
		t.Fatal(err)
	}
	select {
	case second := <-began:
		if second != nil {
			if err := second.Rollback(); err != nil {
				t.Fatal(err)
			}
		}
	case <-time.After(5 * time.Second):
		t.Fatal("the second writer still waits after the first has committed")
	}
}
