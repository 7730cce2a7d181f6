package dialect_test

import (
	"database/sql"
	"testing"
	"time"

	"github.com/sqloutbox/sqloutbox/dialect"
	"github.com/sqloutbox/sqloutbox/internal/engines"
	"github.com/sqloutbox/sqloutbox/internal/rows"
)

func clock(t *testing.T, q rows.Queryer, d dialect.Dialect) int64 {
	t.Helper()
	return one[int64](t, q, "SELECT "+d.Clock())
}

func TestClockIsTheTimeInMilliseconds(t *testing.T) {
	each(t, func(t *testing.T, db *sql.DB, d dialect.Dialect) {
		before := time.Now()
		got := time.UnixMilli(clock(t, db, d))
		after := time.Now()
		const slack = 2 * time.Second
		if got.Before(before.Add(-slack)) || got.After(after.Add(slack)) {
			t.Errorf("the database says %v, Go %v", got, after)
		}
	})
}

func TestClockNeverGoesBack(t *testing.T) {
	each(t, func(t *testing.T, db *sql.DB, d dialect.Dialect) {
		reads := 1_000
		if d.Name() == "sqlite" {
			reads = 10_000
		}
		var last int64
		for range reads {
			now := clock(t, db, d)
			if now < last {
				t.Fatalf("%d came after %d", now, last)
			}
			last = now
		}
	})
}

func TestClockMovesWithinATransaction(t *testing.T) {
	each(t, func(t *testing.T, db *sql.DB, d dialect.Dialect) {
		tx, err := d.Begin(t.Context(), db)
		if err != nil {
			t.Fatal(err)
		}
		defer tx.Rollback()
		first := clock(t, tx, d)
		time.Sleep(60 * time.Millisecond)
		if second := clock(t, tx, d); second < first+50 {
			t.Errorf("%d ms passed, not 60", second-first)
		}
	})
}

func TestClockIsFreshInTheStatementAfterALockWait(t *testing.T) {
	eachURL(t, func(t *testing.T, url string) {
		db, d := open(t, url)
		exec(t, db, "CREATE TABLE lease (id BIGINT PRIMARY KEY, until_ms BIGINT NOT NULL)")
		exec(t, db, "INSERT INTO lease VALUES (1, 0)")
		holder, err := d.Begin(t.Context(), db)
		if err != nil {
			t.Fatal(err)
		}
		defer holder.Rollback()
		column[int64](t, holder, "SELECT id FROM lease WHERE id = 1"+d.Lock())
		const wait = 500 * time.Millisecond
		released := time.AfterFunc(wait, func() { holder.Rollback() })
		defer released.Stop()

		began := time.Now()
		tx, err := d.Begin(t.Context(), db)
		if err != nil {
			t.Fatal(err)
		}
		defer tx.Rollback()
		column[int64](t, tx, "SELECT id FROM lease WHERE id = 1"+d.Lock())
		if waited := time.Since(began); waited < wait/2 {
			t.Fatalf("the lock was not waited for: %v", waited)
		}
		before := clock(t, db2(t, url), d)
		exec(t, tx, "UPDATE lease SET until_ms = "+d.Clock()+" WHERE id = 1")
		written := one[int64](t, tx, "SELECT until_ms FROM lease WHERE id = 1")
		if written < before {
			t.Errorf("the time that was written is %d ms old", before-written)
		}
	})
}

// db2 is another pool on the same database.
func db2(t *testing.T, url string) *sql.DB {
	db, _ := open(t, url)
	return db
}

// Summer time in Berlin ended on 2026-10-25 at 01:00 UTC, when 03:00 became 02:00 again. Where the server has no zone
// tables, changing the offset between two readings shows the same: no part of the clock may come from local time.
func TestMySQLClockDoesNotKnowTheTimeZone(t *testing.T) {
	const endOfSummer = 1792890000
	engines.EachOf(t, []string{"mysql", "mariadb"}, func(t *testing.T, e *engines.Engine) {
		db, d := open(t, e.NewDatabase(t))
		conn, err := db.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		for _, reading := range []struct {
			zone string
			at   int64
		}{
			{"+02:00", endOfSummer - 1}, {"+01:00", endOfSummer}, {"+01:00", endOfSummer + 3600},
			{"-12:00", endOfSummer}, {"+13:00", endOfSummer}, {"+05:45", endOfSummer}, {"SYSTEM", endOfSummer},
			{"Europe/Berlin", endOfSummer - 1}, {"Europe/Berlin", endOfSummer},
		} {
			exec(t, conn, "SET timestamp = ?", reading.at)
			if _, err := conn.ExecContext(t.Context(), "SET time_zone = ?", reading.zone); err != nil {
				if reading.zone == "Europe/Berlin" {
					continue // no zone tables
				}
				t.Fatal(err)
			}
			if got := clock(t, conn, d); got/1000 != reading.at {
				t.Errorf("%s at %d: the clock says %d", reading.zone, reading.at, got)
			}
		}
	})
}
