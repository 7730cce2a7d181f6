package dialect_test

import (
	"database/sql"
	"strings"
	"testing"

	"github.com/sqloutbox/sqloutbox/dialect"
	"github.com/sqloutbox/sqloutbox/migrations"
)

const writeEvent = "INSERT INTO outbox_events (id, topic, payload) VALUES (?, 't', '')"

func makeTables(t *testing.T, db *sql.DB, d dialect.Dialect, opts *migrations.Options) {
	t.Helper()
	if err := migrations.Up(t.Context(), db, d, opts); err != nil {
		t.Fatal(err)
	}
}

func seqBehind(t *testing.T, db *sql.DB, d dialect.Dialect, table string) string {
	t.Helper()
	mend, err := d.SeqBehind(t.Context(), db, table)
	if err != nil {
		t.Fatal(err)
	}
	return mend
}

func TestRowsWithANumberOfTheirOwnMoveTheNumberingOrAreSeen(t *testing.T) {
	each(t, func(t *testing.T, db *sql.DB, d dialect.Dialect) {
		makeTables(t, db, d, nil)
		restore := d.Bind("INSERT INTO outbox_events (seq, id, topic, payload) VALUES (?, ?, 't', '')")
		exec(t, db, restore, 7, "seven")
		exec(t, db, restore, 5, "five")
		exec(t, db, restore, 1000, "moved")
		exec(t, db, "UPDATE outbox_events SET seq = 2000 WHERE id = 'moved'")
		mend := seqBehind(t, db, d, "outbox_events")
		if (mend != "") != (d.Name() == "postgres") {
			t.Errorf("mend is %q", mend)
		}
		if mend != "" {
			exec(t, db, mend)
		}
		exec(t, db, d.Bind(writeEvent), "new")
		if seq := one[int64](t, db, "SELECT seq FROM outbox_events WHERE id = 'new'"); seq != 2001 {
			t.Errorf("the next row is %d, want 2001", seq)
		}
		if mend := seqBehind(t, db, d, "outbox_events"); mend != "" {
			t.Errorf("after it was mended: %s", mend)
		}
	})
}

// What is remembered of rows that are gone is a floor, which the statement that is answered lifts the numbering to, and never
// sets it back.
func TestANumberingBelowAFloorIsSeenAndLifted(t *testing.T) {
	each(t, func(t *testing.T, db *sql.DB, d dialect.Dialect) {
		makeTables(t, db, d, nil)
		below := func(floor int64) string {
			mend, err := d.(dialect.SeqBelower).SeqBelow(t.Context(), db, "outbox_events", floor)
			if err != nil {
				t.Fatal(err)
			}
			return mend
		}
		insert := func(id string, want int64) {
			exec(t, db, d.Bind(writeEvent), id)
			if seq := one[int64](t, db, "SELECT seq FROM outbox_events WHERE id = '"+id+"'"); seq != want {
				t.Errorf("%s: the next row is %d, want %d", id, seq, want)
			}
		}
		if mend := below(0); mend != "" {
			t.Errorf("without a floor: %s", mend)
		}
		lift := below(6) // no row was ever there
		exec(t, db, lift)
		if mend := below(6); mend != "" {
			t.Errorf("after it was lifted: %s", mend)
		}
		insert("a", 7)
		if mend := below(7); mend != "" {
			t.Errorf("at the floor: %s", mend)
		}
		insert("b", 8)
		exec(t, db, lift)
		insert("c", 9)
		exec(t, db, below(20))
		insert("d", 21)
		exec(t, db, "DELETE FROM outbox_events")
		if mend := below(21); mend != "" {
			t.Errorf("without rows: %s", mend)
		}
		insert("e", 22)
	})
}

// A number that was given and never committed, a sequence that was set and never used, and one that is behind by one.
func TestAPostgreSQLSequenceMayBeAheadOfTheRows(t *testing.T) {
	each(t, func(t *testing.T, db *sql.DB, d dialect.Dialect) {
		if d.Name() != "postgres" {
			t.Skip("only PostgreSQL numbers rows by a sequence")
		}
		makeTables(t, db, d, nil)
		tx := begin(t, db)
		exec(t, tx, d.Bind(writeEvent), "rolled back")
		if err := tx.Rollback(); err != nil {
			t.Fatal(err)
		}
		exec(t, db, "INSERT INTO outbox_events (seq, id, topic, payload) VALUES (100, 'a', 't', '')")
		for _, c := range []struct {
			last   int
			called bool
			behind bool
		}{
			{99, true, true}, {100, false, true}, {100, true, false}, {101, false, false}, {5000, true, false},
			{1, false, true}, // as the tables are made
		} {
			exec(t, db, "SELECT setval(pg_get_serial_sequence('outbox_events', 'seq'), $1, $2)", c.last, c.called)
			if mend := seqBehind(t, db, d, "outbox_events"); (mend != "") != c.behind {
				t.Errorf("%+v: mend is %q", c, mend)
			}
		}
		exec(t, db, "ALTER TABLE outbox_events ALTER COLUMN seq SET CACHE 50")
		exec(t, db, seqBehind(t, db, d, "outbox_events"))
		exec(t, db, d.Bind(writeEvent), "cached")
		if mend := seqBehind(t, db, d, "outbox_events"); mend != "" {
			t.Errorf("with a cache: mend is %q", mend)
		}
	})
}

func TestThePostgreSQLSequenceIsFoundUnderOtherNames(t *testing.T) {
	each(t, func(t *testing.T, db *sql.DB, d dialect.Dialect) {
		if d.Name() != "postgres" {
			t.Skip("only PostgreSQL numbers rows by a sequence")
		}
		for _, opts := range []*migrations.Options{{Schema: "box"}, {Prefix: "MyApp_"}, {Schema: "other", Prefix: "MyApp_"}} {
			makeTables(t, db, d, opts)
			table := opts.Prefix + "events"
			if opts.Prefix == "" {
				table = "outbox_events"
			}
			if opts.Schema != "" {
				table = opts.Schema + "." + table
			}
			exec(t, db, "INSERT INTO "+table+" (seq, id, topic, payload) VALUES (1, 'a', 't', '')")
			insert := "INSERT INTO " + table + " (id, topic, payload) VALUES ('b', 't', '')"
			wantClass(t, d, failing(t, db, insert), dialect.KeyTaken)
			exec(t, db, "INSERT INTO "+table+" (seq, id, topic, payload) VALUES (9, 'c', 't', '')")
			exec(t, db, seqBehind(t, db, d, table))
			exec(t, db, insert)
			if seq := one[int64](t, db, "SELECT seq FROM "+table+" WHERE id = 'b'"); seq != 10 {
				t.Errorf("%s: the next row is %d, want 10", table, seq)
			}
			wantClass(t, d, failing(t, db, insert), dialect.Duplicate)
		}
	})
}

// The name of a constraint is not moved with its table, and the next one of that name gets a number.
func TestAPrimaryKeyIsToldFromAnIDBesideAnOldTable(t *testing.T) {
	each(t, func(t *testing.T, db *sql.DB, d dialect.Dialect) {
		if d.Name() != "postgres" {
			t.Skip("only PostgreSQL numbers rows by a sequence")
		}
		statements, err := migrations.SQL(d, nil)
		if err != nil {
			t.Fatal(err)
		}
		exec(t, db, statements[0])
		exec(t, db, "ALTER TABLE outbox_events RENAME TO old_events")
		exec(t, db, statements[0])
		exec(t, db, "INSERT INTO outbox_events (seq, id, topic, payload) VALUES (1, 'a', 't', '')")
		wantClass(t, d, failing(t, db, d.Bind(writeEvent), "b"), dialect.KeyTaken)
		wantClass(t, d, failing(t, db, d.Bind(writeEvent), "a"), dialect.Duplicate)
	})
}

// A role that writes events needs no right on the sequence, and a table may have been made without one.
func TestANumberingThatCannotBeSeenIsNoFault(t *testing.T) {
	each(t, func(t *testing.T, db *sql.DB, d dialect.Dialect) {
		if d.Name() != "postgres" {
			t.Skip("only PostgreSQL numbers rows by a sequence")
		}
		makeTables(t, db, d, &migrations.Options{Schema: "box"})
		exec(t, db, "INSERT INTO box.outbox_events (seq, id, topic, payload) VALUES (9, 'a', 't', '')")
		exec(t, db, "CREATE TABLE plain_events (seq BIGINT PRIMARY KEY)")
		exec(t, db, "INSERT INTO plain_events VALUES (9)")
		if mend := seqBehind(t, db, d, "plain_events"); mend != "" {
			t.Errorf("without a sequence: mend is %q", mend)
		}
		role := "role_of_" + strings.ToLower(one[string](t, db, "SELECT current_database()"))
		exec(t, db, "CREATE ROLE "+role)
		t.Cleanup(func() { db.Exec("RESET ROLE; DROP OWNED BY " + role + "; DROP ROLE " + role) })
		exec(t, db, "GRANT USAGE ON SCHEMA box TO "+role)
		exec(t, db, "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA box TO "+role)
		if mend := seqBehind(t, db, d, "box.outbox_events"); mend == "" {
			t.Error("the owner doesn't see it")
		}
		db.SetMaxOpenConns(1)
		exec(t, db, "SET ROLE "+role)
		if mend := seqBehind(t, db, d, "box.outbox_events"); mend != "" {
			t.Errorf("without SELECT on the sequence: mend is %q", mend)
		}
		exec(t, db, "INSERT INTO box.outbox_events (id, topic, payload) VALUES ('b', 't', '')")
	})
}
