package migrations_test

import (
	"context"
	"database/sql"
	"os"
	osexec "os/exec"
	"sync"
	"testing"

	"github.com/sqloutbox/sqloutbox/dialect/all"
	"github.com/sqloutbox/sqloutbox/internal/engines"
	"github.com/sqloutbox/sqloutbox/migrations"
)

const replicas = 6

func TestManyPoolsMayMigrateAtOnce(t *testing.T) {
	engines.Each(t, func(t *testing.T, e *engines.Engine) {
		for range 4 {
			url := e.NewDatabase(t)
			var group sync.WaitGroup
			start := make(chan struct{})
			for i := range replicas {
				db, d := open(t, url)
				if i%2 == 0 {
					db.SetMaxOpenConns(1)
				}
				if err := db.Ping(); err != nil {
					t.Fatal(err)
				}
				group.Go(func() {
					<-start
					if err := migrations.Up(t.Context(), db, d, nil); err != nil {
						t.Error(err)
					}
					if err := migrations.Check(t.Context(), db, d, nil); err != nil {
						t.Error(err)
					}
				})
			}
			close(start)
			group.Wait()
			db, d := open(t, url)
			wantWhole(t, db, d)
		}
	})
}

// A pool with none of the dialect's settings: SQLite refuses at once what another one locks.
func TestManyBarePoolsMayMigrateAtOnce(t *testing.T) {
	file := t.TempDir() + "/app.db"
	_, d := open(t, "sqlite:"+file)
	var group sync.WaitGroup
	for range replicas {
		db, err := sql.Open("sqlite", file)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		group.Go(func() {
			if err := migrations.Up(t.Context(), db, d, nil); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	db, _ := open(t, "sqlite:"+file)
	wantWhole(t, db, d)
}

// migrateURL in the environment makes the test binary a program that migrates.
const migrateURL = "SQLOUTBOX_TEST_MIGRATE"

func TestMain(m *testing.M) {
	if url := os.Getenv(migrateURL); url != "" {
		os.Exit(migrateMain(url))
	}
	os.Exit(m.Run())
}

func migrateMain(url string) int {
	db, d, err := all.Open(url)
	if err == nil {
		err = migrations.Up(context.Background(), db, d, nil)
	}
	if err != nil {
		println(err.Error())
		return 1
	}
	return 0
}

func TestManyProcessesMayMigrateAtOnce(t *testing.T) {
	engines.Each(t, func(t *testing.T, e *engines.Engine) {
		for range 2 {
			url := e.NewDatabase(t)
			var group sync.WaitGroup
			for range replicas {
				group.Go(func() {
					program := osexec.Command(os.Args[0])
					program.Env = append(os.Environ(), migrateURL+"="+url)
					if output, err := program.CombinedOutput(); err != nil {
						t.Errorf("%v: %s", err, output)
					}
				})
			}
			group.Wait()
			db, d := open(t, url)
			wantWhole(t, db, d)
		}
	})
}
