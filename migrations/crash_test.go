package migrations_test

import (
	"context"
	"database/sql"
	"slices"
	"testing"

	"github.com/sqloutbox/sqloutbox/dialect"
	"github.com/sqloutbox/sqloutbox/internal/hookdb"
	"github.com/sqloutbox/sqloutbox/migrations"
)

// Whatever statement a program dies at, before or after it has run, the next one gets to the end. MySQL commits each
// DDL statement by itself, so every half-way state is a real one there.
func TestUpGoesOnAfterADeathAtAnyStatement(t *testing.T) {
	each(t, func(t *testing.T, db *sql.DB, d dialect.Dialect) {
		deaths := 0
		for nth := 1; ; nth++ {
			finished := false
			for _, after := range []bool{false, true} {
				if dieAt(t, db, nth, after, func(ctx context.Context, faulty *sql.DB) error {
					return migrations.Up(ctx, faulty, d, nil)
				}) {
					finished = true
					continue
				}
				deaths++
				wantWhole(t, db, d)
				removeAll(t, db, d)
			}
			if finished {
				break
			}
		}
		t.Logf("%d deaths", deaths)
		if deaths < 10 {
			t.Errorf("only %d deaths: the test proves little", deaths)
		}
	})
}

func TestDownGoesOnAfterADeathAtAnyStatement(t *testing.T) {
	each(t, func(t *testing.T, db *sql.DB, d dialect.Dialect) {
		before := tables(t, db, d)
		for nth := 1; ; nth++ {
			finished := false
			for _, after := range []bool{false, true} {
				up(t, db, d, nil)
				finished = dieAt(t, db, nth, after, func(ctx context.Context, faulty *sql.DB) error {
					return migrations.Down(ctx, faulty, d, nil)
				}) || finished
				if err := migrations.Down(t.Context(), db, d, nil); err != nil {
					t.Fatalf("statement %d: Down again: %v", nth, err)
				}
				if left := tables(t, db, d); !slices.Equal(left, before) {
					t.Fatalf("statement %d: Down again left %v", nth, left)
				}
			}
			if finished {
				break
			}
		}
	})
}

// dieAt runs a program that dies at its nth statement. It answers true if the program had fewer.
func dieAt(t *testing.T, db *sql.DB, nth int, after bool, program func(context.Context, *sql.DB) error) (finished bool) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	f := &fault{nth: nth, after: after, die: cancel}
	faulty := hookdb.Open(db, f.hooks())
	defer faulty.Close()
	err := program(ctx, faulty)
	if !f.dead && err != nil {
		t.Fatalf("statement %d: it was not meant to fail: %v", nth, err)
	}
	if f.dead && err == nil {
		t.Fatalf("statement %d: it reports success", nth)
	}
	return !f.dead
}

// wantWhole runs Up on a healthy pool and looks whether every step was noted once.
func wantWhole(t *testing.T, db *sql.DB, d dialect.Dialect) {
	t.Helper()
	up(t, db, d, nil)
	if err := migrations.Check(t.Context(), db, d, nil); err != nil {
		t.Error(err)
	}
	steps, err := migrations.Status(t.Context(), db, d, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := []int64{0}
	for _, step := range steps {
		want = append(want, step.Version)
	}
	if got := column[int64](t, db, "SELECT version_id FROM outbox_migrations ORDER BY version_id"); !slices.Equal(got, want) {
		t.Errorf("the version table holds %v, want %v", got, want)
	}
}

func removeAll(t *testing.T, db *sql.DB, d dialect.Dialect) {
	t.Helper()
	if err := migrations.Down(t.Context(), db, d, nil); err != nil {
		t.Fatal(err)
	}
}
