package pgwake

import (
	"context"
	"database/sql"
	"errors"
	"net"
	"net/url"
	"strings"
	"testing"

	"github.com/sqloutbox/sqloutbox/outbox"
)

func TestNothingIsSentInsideTheHostsTransaction(t *testing.T) {
	onPostgres(t, func(t *testing.T, address string) {
		o, n, ear := newOutbox(t, address), newNotifier(t, address, nil), newEar(t, address, DefaultChannel)
		o.Attach(n)

		errNo := errors.New("no")
		err := o.InTx(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
			if _, err := o.Write(ctx, tx, outbox.Event{Topic: "t"}); err != nil {
				return err
			}
			return errNo
		})
		if !errors.Is(err, errNo) {
			t.Fatal(err)
		}

		var host uint32
		err = o.InTx(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
			if _, err := o.Write(ctx, tx, outbox.Event{Topic: "t"}); err != nil {
				return err
			}
			return tx.QueryRowContext(ctx, "SELECT pg_backend_pid()").Scan(&host)
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := n.Close(); err != nil {
			t.Fatal(err)
		}
		got := ear.until(t, DefaultChannel)
		if len(got) != 1 || got[0] == host {
			t.Errorf("sessions %v have sent, want one, and not the host's, %d", got, host)
		}
	})
}

func TestARolledBackInTxSendsNothing(t *testing.T) {
	onPostgres(t, func(t *testing.T, address string) {
		o, n, ear := newOutbox(t, address), newNotifier(t, address, nil), newEar(t, address, DefaultChannel)
		o.Attach(n)
		for range 3 {
			_ = o.InTx(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
				if _, err := o.Write(ctx, tx, outbox.Event{Topic: "t"}); err != nil {
					t.Error(err)
				}
				return errors.New("no")
			})
		}
		if err := n.Close(); err != nil { // sends what is due
			t.Fatal(err)
		}
		if got := ear.until(t, DefaultChannel); len(got) != 0 {
			t.Errorf("sessions %v have sent", got)
		}
	})
}

// However many transactions commit while a notice is on its way, one more tells of them all.
func TestWakesWhileANoticeIsOnItsWayAreOne(t *testing.T) {
	onPostgres(t, func(t *testing.T, address string) {
		n, ear := newNotifier(t, address, nil), newEar(t, address, DefaultChannel)
		g := gate{dialled: make(chan struct{})}
		g.put(n)
		n.Wake()
		<-g.dialled // the sender has taken it
		for range 1000 {
			n.Wake()
		}
		<-g.dialled
		n.Close()
		if got := ear.until(t, DefaultChannel); len(got) != 2 {
			t.Errorf("%d notices, want 2", len(got))
		}
	})
}

func TestASenderThatLostItsConnectionMakesAnother(t *testing.T) {
	onPostgres(t, func(t *testing.T, address string) {
		db, n, woken := pool(t, address), newNotifier(t, address, nil), newWakes()
		listen(t, n, woken)
		<-woken
		for range 3 {
			n.Wake()
			<-woken
			kill(t, db, tell)
		}
		n.Wake()
		<-woken
	})
}

// A minute without events gives the connection back, and the next event makes a new one.
func TestASenderGoesAndComesBack(t *testing.T) {
	onPostgres(t, func(t *testing.T, address string) {
		n, woken := newNotifier(t, address, nil), newWakes()
		n.linger = 1
		listen(t, n, woken)
		<-woken
		for range 10 {
			n.Wake()
			<-woken
			n.sender.Wait()
			if n.sending {
				t.Fatal("the sender has gone and is not known to have")
			}
		}
	})
}

// The server takes connections and says nothing.
func TestWakeNeverBlocks(t *testing.T) {
	server, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	n := newNotifier(t, "postgres://app@"+server.Addr().String()+"/shop?sslmode=disable", nil)
	n.patience = 1
	for range 1000 {
		n.Wake()
	}
	n.Close()
	n.Close()
	n.Wake() // does nothing
	if n.sending || len(n.due) != 0 {
		t.Error("a closed Notifier goes on")
	}
}

func TestAKeywordStringWillDo(t *testing.T) {
	onPostgres(t, func(t *testing.T, address string) {
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		words := []string{
			"host=" + u.Hostname(), "port=" + u.Port(), "user=" + u.User.Username(),
			"dbname=" + strings.TrimPrefix(u.Path, "/"), "sslmode=disable", "default_query_exec_mode=simple_protocol",
		}
		if password, ok := u.User.Password(); ok {
			words = append(words, "password="+password)
		}
		n, woken := newNotifier(t, strings.Join(words, " "), nil), newWakes()
		listen(t, n, woken)
		<-woken
		n.Wake()
		<-woken
	})
}
