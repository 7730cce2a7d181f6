package relay_test

import (
	"context"
	"database/sql"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sqloutbox/sqloutbox/internal/engines"
	"github.com/sqloutbox/sqloutbox/internal/hookdb"
	"github.com/sqloutbox/sqloutbox/outbox"
	"github.com/sqloutbox/sqloutbox/relay"
)

// An event is put back while a handler runs that was left to this process: Requeue has locked the event and waits for its record,
// and the handler has the record and is to wake the event. One of them must give way. If that is the handler it is not charged,
// though this was its only attempt.
func TestAHandlerThatGivesWayToARequeueIsNotCharged(t *testing.T) {
	engines.Each(t, func(t *testing.T, e *engines.Engine) {
		for _, order := range perKeyAndNone {
			t.Run(order.String(), func(t *testing.T) {
				t.Parallel() // most of it is waiting
				o := newOutbox(t, e)
				if o.Dialect().Lock() == "" {
					t.Skip("with one writer no two transactions wait for each other")
				}
				leaveOne(t, o)
				began, finish := make(chan struct{}, 1), make(chan struct{})
				var calls atomic.Int64
				h := handlersOf(t, o, nil, relay.Handler{Name: "late", Topics: []string{"*"}, MaxAttempts: 1,
					Tx: func(_ context.Context, _ *sql.Tx, m relay.Message) error {
						if m.Topic == "t" && calls.Add(1) == 1 {
							began <- struct{}{}
							<-finish
						}
						return nil
					}})
				defer running(t, relayOf(t, o, h, &relay.Options{Order: order, Poll: 10 * time.Millisecond}))()
				<-began
				deadBesides(t, o, 50)
				var once sync.Once
				db := hookdb.Open(o.DB(), hookdb.Hooks{Before: func(query string) error {
					if strings.HasPrefix(query, "DELETE ") && strings.Contains(query, "outbox_deliveries") {
						once.Do(func() { time.AfterFunc(500*time.Millisecond, func() { close(finish) }) }) // it waits by then
					}
					return nil
				}})
				defer db.Close()
				if n, err := outboxOn(t, db, o).RequeueMatching(t.Context(), outbox.DeadLetterQuery{}); n != 51 || err != nil {
					t.Errorf("%d put back, %v, want 51", n, err)
				}
				until(t, "all is through, or dead again", func() bool {
					s, err := o.Stats(t.Context())
					return err == nil && s.Pending == 0
				})
				want := int64(2)
				if e.Name == "postgres" {
					want = 1 // it wakes no dead letter, and so waits for no lock of one
				}
				if s, err := o.Stats(t.Context()); err != nil || s.Dead != 0 || calls.Load() != want {
					t.Errorf("%d dead letters, %v, and %d calls; want none, and %d", s.Dead, err, calls.Load(), want)
				}
			})
		}
	})
}

// deadBesides makes dead letters of the events that are there and of n more, so that MySQL and MariaDB let the other give way:
// it has changed less.
func deadBesides(t *testing.T, o *outbox.Outbox, n int) {
	t.Helper()
	err := o.InTx(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
		for range n {
			if _, err := o.Write(ctx, tx, outbox.Event{Topic: "other"}); err != nil {
				return err
			}
		}
		_, err := tx.ExecContext(ctx, "UPDATE outbox_events SET state = 2")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
