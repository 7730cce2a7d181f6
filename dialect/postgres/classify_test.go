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
		dialect.Other:         {"", "23502", "23514", "25P02", "28P01", "3D000", "42501", "42601", "53100", "XX000"},
	}
	for class, states := range want {
		for _, state := range states {
			if got := postgres.New().Classify(&pgconn.PgError{Code: state}); got != class {
				t.Errorf("%s: %v, want %v", state, got, class)
			}
		}
	}
}
