package fleet

import (
	"strings"
	"testing"
	"time"

	"github.com/sqloutbox/sqloutbox/internal/engines"
	"github.com/sqloutbox/sqloutbox/relay"
)

// A database that will never do ends a relay at once, with a message that says what to do.
func TestARelayRefusesADatabaseThatWillNotDo(t *testing.T) {
	for _, test := range []struct {
		name    string
		url     func(t *testing.T, e *engines.Engine) string
		dialect func(e *engines.Engine) string
		want    []string // of the message
	}{
		{
			name: "schema missing",
			url:  func(t *testing.T, e *engines.Engine) string { return e.NewDatabase(t) },
			want: []string{"migrations.Up"},
		},
		{
			name: "schema behind",
			url: func(t *testing.T, e *engines.Engine) string {
				d := newDatabase(t, e)
				d.exec(t, "DROP TABLE "+d.Table("relays"))
				return d.url
			},
			want: []string{"migrations.Up", "outbox_relays"},
		},
		{
			name:    "wrong dialect",
			url:     func(t *testing.T, e *engines.Engine) string { return newDatabase(t, e).url },
			dialect: wrongDialect,
			want:    []string{"dialect"},
		},
		{
			name: "read-only",
			url: func(t *testing.T, e *engines.Engine) string {
				d := newDatabase(t, e)
				switch e.Name {
				case "postgres":
					d.exec(t, "ALTER DATABASE "+d.name()+" SET default_transaction_read_only = on")
					return d.url
				case "mysql":
					return d.url + "?transaction_read_only=1"
				case "mariadb":
					return d.url + "?tx_read_only=1"
				}
				return strings.Replace(d.url, "sqlite:", "sqlite:file:", 1) + "?mode=ro"
			},
			want: []string{"read-only"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			for _, name := range engines.Names() {
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					e := engines.Get(t, name)
					f := newFleet(t, test.url(t, e), newReceiver(t, nil), relay.Options{})
					if test.dialect != nil {
						f.dialect = test.dialect(e)
					}
					r := f.start()
					r.await(t, 20*time.Second)
					report := r.report(t)
					t.Log(report.Error)
					if r.code() != exitError {
						t.Errorf("the relay ended with %v", r.cmd.ProcessState)
					}
					for _, want := range test.want {
						if !strings.Contains(report.Error, want) {
							t.Errorf("the error %q does not name %q", report.Error, want)
						}
					}
				})
			}
		})
	}
}

// wrongDialect is another engine's.
func wrongDialect(e *engines.Engine) string {
	return map[string]string{"sqlite": "postgres", "postgres": "mysql", "mysql": "sqlite", "mariadb": "postgres"}[e.Name]
}

// name of the database on its server.
func (d *database) name() string {
	path, _, _ := strings.Cut(d.url, "?")
	return path[strings.LastIndexByte(path, '/')+1:]
}

// On PostgreSQL a session keeps what was the default when it began, as after a failover a connection keeps the server:
// a pool that goes on with it stays read-only for ever. PostgreSQL and MySQL can make one database read-only; on
// MariaDB it takes the whole server, which is shared, and on SQLite there is no such thing.
func TestARelayGoesOnAfterItsDatabaseWasReadOnly(t *testing.T) {
	for _, name := range engines.Names() {
		if name != "postgres" && name != "mysql" {
			continue
		}
		for _, order := range orders() {
			t.Run(name+"/"+order.String(), func(t *testing.T) {
				t.Parallel()
				readOnlyForAWhile(t, newDatabase(t, engines.Get(t, name)), order)
			})
		}
	}
}

func readOnlyForAWhile(t *testing.T, d *database, order relay.Order) {
	rc := newReceiver(t, nil)
	f := newFleet(t, d.url, rc, quickOptions(order))
	r := f.start()
	ids := d.fill(t, 500)
	eventually(t, 20*time.Second, "events arrive", func() bool { return rc.count() > 0 })
	on, off := "ALTER DATABASE "+d.name()+" READ ONLY = 1", "ALTER DATABASE "+d.name()+" READ ONLY = 0"
	if d.engine == "postgres" {
		on = "ALTER DATABASE " + d.name() + " SET default_transaction_read_only = on"
		off = "ALTER DATABASE " + d.name() + " RESET default_transaction_read_only"
	}
	ids = append(ids, d.fill(t, 500)...) // still on its way, or not yet begun
	d.exec(t, on)
	d.endOthers(t) // the relay's next sessions are read-only, and stay so
	eventually(t, 10*time.Second, "the relay says what is wrong", func() bool {
		return strings.Contains(strings.ToLower(r.log()), "read") && strings.Contains(strings.ToLower(r.log()), "only")
	})
	d.exec(t, off)
	d.DB().SetMaxIdleConns(0) // the test's own writers are not what is tested
	ids = append(ids, d.fill(t, 100)...)
	eventually(t, 30*time.Second, "all have arrived", func() bool { return rc.distinct() == len(ids) })
	d.awaitSettled(t, 10*time.Second)
	r.stop(t)
	rc.wantAll(t, ids)
	if s := d.stats(t); s.Dead != 0 {
		t.Errorf("%d dead letters", s.Dead)
	}
}

// endOthers ends every session of the database but this one: on PostgreSQL a default is a session's for its life.
func (d *database) endOthers(t *testing.T) {
	t.Helper()
	if d.engine == "postgres" {
		d.exec(t, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()")
	}
}
