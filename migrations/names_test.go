package migrations_test

import (
	"database/sql"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/sqloutbox/sqloutbox/dialect"
	"github.com/sqloutbox/sqloutbox/migrations"
)

func TestPrefixesKeepOutboxesApart(t *testing.T) {
	each(t, func(t *testing.T, db *sql.DB, d dialect.Dialect) {
		longest := strings.Repeat("p", 31) + "_"
		prefixes := []string{"", "shop_", "Shop2_", longest}
		for _, prefix := range prefixes {
			opts := &migrations.Options{Prefix: prefix}
			if err := migrations.Check(t.Context(), db, d, opts); !errors.Is(err, migrations.ErrSchemaMissing) {
				t.Errorf("prefix %q: %v", prefix, err)
			}
			up(t, db, d, opts)
			if err := migrations.Check(t.Context(), db, d, opts); err != nil {
				t.Errorf("prefix %q: %v", prefix, err)
			}
		}
		insert(t, db, d, "shop_", "an event")
		for _, qualifier := range []string{"outbox_", "Shop2_", longest} {
			if n := one[int](t, db, "SELECT COUNT(*) FROM "+qualifier+"events"); n != 0 {
				t.Errorf("%s holds %d events", qualifier, n)
			}
		}
		for _, index := range indexes(t, db, d) {
			if len(index) > 63 {
				t.Errorf("%s is longer than PostgreSQL keeps", index)
			}
		}
		if err := migrations.Down(t.Context(), db, d, &migrations.Options{Prefix: "shop_"}); err != nil {
			t.Fatal(err)
		}
		for _, prefix := range []string{"", "Shop2_", longest} {
			if err := migrations.Check(t.Context(), db, d, &migrations.Options{Prefix: prefix}); err != nil {
				t.Errorf("prefix %q, after another's Down: %v", prefix, err)
			}
		}
	})
}

// indexes are the names of all indexes that have one of their own.
func indexes(t *testing.T, db *sql.DB, d dialect.Dialect) []string {
	t.Helper()
	query := map[string]string{
		"postgres": "SELECT indexname FROM pg_indexes WHERE schemaname NOT IN ('pg_catalog', 'information_schema')",
		"mysql":    "SELECT DISTINCT index_name FROM information_schema.statistics WHERE table_schema = DATABASE()",
		"sqlite":   "SELECT name FROM sqlite_schema WHERE type = 'index' AND name NOT LIKE 'sqlite_autoindex%'",
	}[d.Name()]
	names := column[string](t, db, query)
	if len(names) == 0 {
		t.Fatal("there are no indexes")
	}
	return names
}

func TestASchemaHoldsEverything(t *testing.T) {
	each(t, func(t *testing.T, db *sql.DB, d dialect.Dialect) {
		if d.Name() != "postgres" {
			t.Skip("only PostgreSQL has schemas and rights of a role on them")
		}
		for _, opts := range []*migrations.Options{{Schema: "box"}, {Schema: "box2", Prefix: "p_"}, {Schema: "outbox_prod", Prefix: "evt_"}} {
			if err := migrations.Check(t.Context(), db, d, opts); !errors.Is(err, migrations.ErrSchemaMissing) {
				t.Errorf("%+v: %v", opts, err)
			}
			up(t, db, d, opts)
			up(t, db, d, opts)
			if err := migrations.Check(t.Context(), db, d, opts); err != nil {
				t.Errorf("%+v: %v", opts, err)
			}
		}
		all := tables(t, db, d)
		if slices.ContainsFunc(all, func(name string) bool { return strings.HasPrefix(name, "public.") }) {
			t.Errorf("something was made outside of the schemas: %v", all)
		}
		outside := one[int](t, db, "SELECT COUNT(*) FROM pg_indexes WHERE schemaname NOT IN ('box', 'box2', 'outbox_prod', 'pg_catalog')")
		if outside != 0 {
			t.Errorf("%d indexes outside of the schemas", outside)
		}
		insert(t, db, d, "box2.p_", "an event")
		if err := migrations.Down(t.Context(), db, d, &migrations.Options{Schema: "box"}); err != nil {
			t.Fatal(err)
		}
		if err := migrations.Check(t.Context(), db, d, &migrations.Options{Schema: "box2", Prefix: "p_"}); err != nil {
			t.Error(err)
		}
	})
}

// Names stand unquoted in SQL, where a reserved word is a syntax error.
func TestASchemaIsNoReservedWord(t *testing.T) {
	each(t, func(t *testing.T, db *sql.DB, d dialect.Dialect) {
		if d.Name() != "postgres" {
			t.Skip("only PostgreSQL has schemas and rights of a role on them")
		}
		const words = "SELECT word FROM pg_get_keywords() WHERE catcode IN ('R', 'T') = $1 AND word ~ '^[a-z_]+$'"
		for _, reserved := range []bool{true, false} {
			for _, word := range column[string](t, db, words, reserved) {
				_, err := migrations.SQL(d, &migrations.Options{Schema: word})
				if refused := errors.Is(err, migrations.ErrInvalidOptions); refused != reserved && word != "system_user" { // reserved from 16 on
					t.Errorf("%q is reserved: %v, and refused: %v", word, reserved, err)
				}
			}
		}
	})
}

// An account that may use the tables and nothing else calls Up at each start of its program.
func TestUpNeedsNoRightsWhereNothingIsMissing(t *testing.T) {
	each(t, func(t *testing.T, db *sql.DB, d dialect.Dialect) {
		if d.Name() != "postgres" {
			t.Skip("only PostgreSQL has schemas and rights of a role on them")
		}
		conn, err := db.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		role := "outbox_test_" + strings.ToLower(strings.TrimPrefix(one[string](t, db, "SELECT current_database()"), "outbox_test_"))
		opts := &migrations.Options{Schema: "box"}
		up(t, db, d, opts)
		exec(t, conn, "CREATE ROLE "+role)
		t.Cleanup(func() {
			db.Exec("RESET ROLE; DROP OWNED BY " + role + "; DROP ROLE " + role)
		})
		exec(t, conn, "GRANT USAGE ON SCHEMA box TO "+role)
		exec(t, conn, "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA box TO "+role)
		conn.Close()
		db.SetMaxOpenConns(1)
		exec(t, db, "SET ROLE "+role)
		if err := migrations.Up(t.Context(), db, d, opts); err != nil {
			t.Error(err)
		}
		if err := migrations.Up(t.Context(), db, d, &migrations.Options{Schema: "other"}); err == nil {
			t.Error("an account without rights has made a schema")
		}
	})
}
