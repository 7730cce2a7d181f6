package postgres_test

import (
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/sqloutbox/sqloutbox/dialect"
	"github.com/sqloutbox/sqloutbox/dialect/postgres"
)

// The codes that a test can't bring about; dialect/classify_test.go has those that it can.
func TestClassOfEachSQLState(t *testing.T) {
	want := map[dialect.Class][]string{
		dialect.Duplicate:     {"23505"},
		dialect.Conflict:      {"40001", "40P01", "55P03", "57014"},
		dialect.Disconnected:  {"08000", "08003", "08006", "08P01", "57P01", "57P02", "57P03", "57P05", "25P03", "25P04", "53300"},
		dialect.ReadOnly:      {"25006"},
		dialect.SchemaMissing: {"42P01", "42703", "3F000"},
		dialect.Aborted:       {"25P02"},
		dialect.Other:         {"", "23502", "23514", "28P01", "3D000", "42501", "42601", "53100", "XX000"},
	}
	for class, states := range want {
		for _, state := range states {
			if got := postgres.New().Classify(&pgconn.PgError{Code: state}); got != class {
				t.Errorf("%s: %v, want %v", state, got, class)
			}
		}
	}
}

func TestAPrimaryKeyIsKnownByTheNameThatPostgreSQLGivesIt(t *testing.T) {
	for name, want := range map[string]dialect.Class{
		"outbox_events_pkey": dialect.KeyTaken, "outbox_events_pkey1": dialect.KeyTaken, "app_events_pkey12": dialect.KeyTaken,
		"outbox_events_id_key": dialect.Duplicate, "x_pkey_events_id_key": dialect.Duplicate,
		"outbox_migrations_version_id_key": dialect.Duplicate, "pg_class_relname_nsp_index": dialect.Duplicate,
	} {
		if got := postgres.New().Classify(&pgconn.PgError{Code: "23505", ConstraintName: name}); got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}
