package migrations_test

import (
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sqloutbox/sqloutbox/dialect"
)

// text columns, by table, with the column that makes a row of its own.
var textColumns = map[string][]string{
	"events":   {"id", "topic", "event_key", "last_error", "claimed_by"},
	"leases":   {"name", "owner"},
	"relays":   {"id", "host", "order_name"},
	"held":     {"event_key"},
	"pauses":   {"topic"},
	"counters": {"name"},
	"inbox":    {"consumer", "message_id"},
	"handlers": {"name", "former_name"},

	"deliveries": {"handler", "last_error"},
	"feed":       {},
	"cursors":    {"name"},

	"subscriptions":      {"name", "url", "reason"},
	"webhook_deliveries": {"claimed_by", "last_answer", "last_error"},
}

func TestTextComparesByteByByte(t *testing.T) {
	// Case, accent (composed and not), trailing space, trailing tab, zero-width space, sharp s, Turkish i.
	values := []string{"a", "A", "á", "a\u0301", "a ", "a\t", "a\u200b", "a\u00a0", "ss", "ß", "i", "ı", "aa"}
	each(t, func(t *testing.T, db *sql.DB, d dialect.Dialect) {
		up(t, db, d, nil)
		n := 0
		for table, columns := range textColumns {
			for _, name := range columns {
				for _, value := range values {
					n++
					insertText(t, db, d, table, name, value, n)
				}
				for _, value := range values {
					query := d.Bind("SELECT " + name + " FROM outbox_" + table + " WHERE " + name + " = ?")
					if got := column[string](t, db, query, value); len(got) != 1 || got[0] != value {
						t.Errorf("%s.%s = %q finds %q", table, name, value, got)
					}
				}
				// And in the order of bytes.
				got := column[string](t, db, d.Bind("SELECT "+name+" FROM outbox_"+table+" WHERE "+name+" IN (?, ?, ?, ?) ORDER BY "+name), "a", "A", "á", "aa")
				if want := []string{"A", "a", "aa", "á"}; !slices.Equal(got, want) {
					t.Errorf("%s.%s sorts as %q, want %q", table, name, got, want)
				}
			}
		}
	})
}

// insertText makes a row with value in a text column; n is for the columns that have to be unique.
func insertText(t *testing.T, db *sql.DB, d dialect.Dialect, table, name, value string, n int) {
	t.Helper()
	unique := fmt.Sprintf("row %d", n)
	row := map[string]any{}
	switch table {
	case "events":
		row["id"], row["topic"], row["payload"] = unique, "topic of no account", []byte{}
	case "leases", "counters", "handlers", "cursors":
		row["name"] = unique
	case "deliveries":
		row["seq"], row["handler"] = n, unique
	case "subscriptions":
		row["id"], row["name"] = n, unique
	case "webhook_deliveries":
		row["subscription_id"], row["feed_seq"], row["seq"] = n, n, n
	case "relays":
		row["id"] = unique
	case "held":
		row["seq"], row["partition_no"] = n, 0
	case "pauses":
		row["topic"] = unique
	case "inbox":
		row["consumer"], row["message_id"], row["received_ms"] = unique, unique, 0
	}
	row[name] = value
	var names, marks []string
	var args []any
	for name, value := range row {
		names, marks, args = append(names, name), append(marks, "?"), append(args, value)
	}
	exec(t, db, d.Bind(fmt.Sprintf("INSERT INTO outbox_%s (%s) VALUES (%s)", table, strings.Join(names, ", "), strings.Join(marks, ", "))), args...)
}

func TestNoColumnTakesNull(t *testing.T) {
	each(t, func(t *testing.T, db *sql.DB, d dialect.Dialect) {
		up(t, db, d, nil)
		insert(t, db, d, "outbox_", "an event")
		exec(t, db, "INSERT INTO outbox_leases (name) VALUES ('a lease')")
		exec(t, db, "INSERT INTO outbox_relays (id) VALUES ('a relay')")
		exec(t, db, "INSERT INTO outbox_held (seq, event_key, partition_no) VALUES (1, 'a key', 0)")
		exec(t, db, "INSERT INTO outbox_pauses (topic) VALUES ('a topic')")
		exec(t, db, "INSERT INTO outbox_counters (name) VALUES ('a counter')")
		exec(t, db, "INSERT INTO outbox_inbox (consumer, message_id, received_ms) VALUES ('a consumer', 'a message', 0)")
		exec(t, db, "INSERT INTO outbox_handlers (name) VALUES ('a handler')")
		exec(t, db, "INSERT INTO outbox_deliveries (seq, handler) VALUES (1, 'a handler')")
		exec(t, db, "INSERT INTO outbox_feed (feed_seq, seq, published_ms) VALUES (1, 1, 0)")
		exec(t, db, "INSERT INTO outbox_cursors (name) VALUES ('a cursor')")
		exec(t, db, "INSERT INTO outbox_subscriptions (id, name) VALUES (1, 'a subscription')")
		exec(t, db, "INSERT INTO outbox_webhook_deliveries (subscription_id, feed_seq, seq) VALUES (1, 1, 1)")
		for table := range textColumns {
			for _, name := range columnsOf(t, db, d, "outbox_"+table) {
				if _, err := db.Exec("UPDATE outbox_" + table + " SET " + name + " = NULL"); err == nil {
					t.Errorf("%s.%s was set to NULL", table, name)
				}
				// An insert of NULL makes a number where the column is numbered, and fails everywhere else.
				if table == "events" && name == "seq" {
					continue
				}
				if _, err := db.Exec(insertNull(d, table, name)); err == nil {
					t.Errorf("%s.%s took NULL", table, name)
				}
			}
		}
		if got := column[*string](t, db, "SELECT id FROM outbox_events WHERE id IS NULL"); len(got) > 0 {
			t.Errorf("%d events have no id", len(got))
		}
	})
}

func insertNull(d dialect.Dialect, table, name string) string {
	row := map[string]string{}
	switch table {
	case "events":
		row["id"], row["topic"], row["payload"] = "'null'", "'topic'", "''"
	case "leases", "counters", "handlers", "cursors":
		row["name"] = "'null'"
	case "deliveries":
		row["seq"], row["handler"] = "2", "'null'"
	case "subscriptions":
		row["id"], row["name"] = "2", "'null'"
	case "webhook_deliveries":
		row["subscription_id"], row["feed_seq"], row["seq"] = "2", "2", "2"
	case "relays":
		row["id"] = "'null'"
	case "held":
		row["seq"], row["event_key"], row["partition_no"] = "2", "'null'", "0"
	case "pauses":
		row["topic"] = "'null'"
	case "inbox":
		row["consumer"], row["message_id"], row["received_ms"] = "'null'", "'null'", "0"
	case "feed":
		row["feed_seq"], row["seq"], row["published_ms"] = "2", "2", "0"
	}
	row[name] = "NULL"
	var names, values []string
	for name, value := range row {
		names, values = append(names, name), append(values, value)
	}
	return fmt.Sprintf("INSERT INTO outbox_%s (%s) VALUES (%s)", table, strings.Join(names, ", "), strings.Join(values, ", "))
}

// A table that the tests above don't know would not be looked at by them.
func TestTheTestsKnowEveryTable(t *testing.T) {
	each(t, func(t *testing.T, db *sql.DB, d dialect.Dialect) {
		up(t, db, d, nil)
		want := []string{"outbox_migrations"}
		for table := range textColumns {
			want = append(want, "outbox_"+table)
		}
		slices.Sort(want)
		got := tables(t, db, d)
		for i := range got {
			got[i] = strings.TrimPrefix(got[i], "public.")
		}
		if !slices.Equal(got, want) {
			t.Errorf("the tables are %q, the tests know %q", got, want)
		}
	})
}

func columnsOf(t *testing.T, db *sql.DB, d dialect.Dialect, table string) []string {
	t.Helper()
	query := map[string]string{
		"postgres": "SELECT column_name FROM information_schema.columns WHERE table_schema = 'public' AND table_name = ?",
		"mysql":    "SELECT column_name FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = ?",
		"sqlite":   "SELECT name FROM pragma_table_info(?)",
	}[d.Name()]
	names := column[string](t, db, d.Bind(query), table)
	if len(names) == 0 {
		t.Fatalf("%s has no columns", table)
	}
	slices.Sort(names)
	return names
}

func TestEveryEngineHasTheSameTables(t *testing.T) {
	seen := map[string][]string{}
	each(t, func(t *testing.T, db *sql.DB, d dialect.Dialect) {
		up(t, db, d, nil)
		names := tables(t, db, d)
		for i := range names {
			names[i] = strings.TrimPrefix(names[i], "public.")
		}
		for _, table := range names {
			columns := columnsOf(t, db, d, table)
			if before, ok := seen[table]; ok && !slices.Equal(before, columns) {
				t.Errorf("%s has %q here and %q elsewhere", table, columns, before)
			}
			seen[table] = columns
		}
		if before, ok := seen["tables"]; ok && !slices.Equal(before, names) {
			t.Errorf("tables %q here and %q elsewhere", names, before)
		}
		seen["tables"] = names
	})
}

// Writers in other languages give id, topic and payload.
func TestARowOfThreeColumnsIsWhole(t *testing.T) {
	each(t, func(t *testing.T, db *sql.DB, d dialect.Dialect) {
		up(t, db, d, nil)
		before := time.Now().Add(-2 * time.Second).UnixMilli()
		insert(t, db, d, "outbox_", "first")
		insert(t, db, d, "outbox_", "second")
		var seq, partition, state, created, due, attempts, feed int64
		var key, lastError, claimedBy string
		var headers, payload []byte
		err := db.QueryRow(`
SELECT seq, partition_no, state, created_ms, due_ms, attempts, feed_seq, event_key, last_error, claimed_by, headers, payload
  FROM outbox_events WHERE id = 'second'`).Scan(
			&seq, &partition, &state, &created, &due, &attempts, &feed, &key, &lastError, &claimedBy, &headers, &payload)
		if err != nil {
			t.Fatal(err)
		}
		after := time.Now().Add(2 * time.Second).UnixMilli()
		if seq != 2 || partition != -1 || state != 0 || attempts != 0 || feed != 0 || key != "" || lastError != "" || claimedBy != "" || len(headers) != 0 || string(payload) != "payload" {
			t.Errorf("seq %d, partition %d, state %d, attempts %d, feed %d, key %q, error %q, claimed by %q, headers %q, payload %q",
				seq, partition, state, attempts, feed, key, lastError, claimedBy, headers, payload)
		}
		if created < before || created > after || due < before || due > after {
			t.Errorf("created at %d and due at %d, between %d and %d", created, due, before, after)
		}
	})
}

// Two writers in other languages get what they ask for or an error, never a shortened or empty id.
func TestIDsAndTopicsHaveLimitsInTheDatabaseToo(t *testing.T) {
	each(t, func(t *testing.T, db *sql.DB, d dialect.Dialect) {
		up(t, db, d, nil)
		insert(t, db, d, "outbox_", strings.Repeat("é", 64)) // 128 bytes
		for _, id := range []string{"", strings.Repeat("x", 129), strings.Repeat("é", 64) + "x"} {
			if _, err := db.Exec(d.Bind("INSERT INTO outbox_events (id, topic, payload) VALUES (?, 'topic', '')"), id); err == nil {
				t.Errorf("an id of %d bytes was taken", len(id))
			}
		}
		for _, topic := range []string{"", strings.Repeat("x", 256)} {
			if _, err := db.Exec(d.Bind("INSERT INTO outbox_events (id, topic, payload) VALUES ('id', ?, '')"), topic); err == nil {
				t.Errorf("a topic of %d bytes was taken", len(topic))
			}
		}
	})
}

func TestNumbersAreNotUsedTwice(t *testing.T) {
	each(t, func(t *testing.T, db *sql.DB, d dialect.Dialect) {
		up(t, db, d, nil)
		insert(t, db, d, "outbox_", "first")
		exec(t, db, "DELETE FROM outbox_events")
		insert(t, db, d, "outbox_", "second")
		if seq := one[int64](t, db, "SELECT seq FROM outbox_events"); seq != 2 {
			t.Errorf("the second event has seq %d", seq)
		}
	})
}
