package relay_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/sqloutbox/sqloutbox/internal/engines"
	"github.com/sqloutbox/sqloutbox/outbox"
	"github.com/sqloutbox/sqloutbox/relay"
)

// More dead letters of a key than a turn takes are put back before an event of it whose call takes long. Others get on meanwhile.
func TestWhatIsPutBackBeforeASlowCallKeepsNoOtherKeyWaiting(t *testing.T) {
	engines.EachAtOnce(t, func(t *testing.T, e *engines.Engine) {
		o := newOutbox(t, e)
		entered, open := make(chan struct{}), make(chan struct{})
		defer func() {
			if open != nil {
				close(open)
			}
		}()
		var mu sync.Mutex
		var got []string
		r := relayOf(t, o, relay.PublisherFunc(func(_ context.Context, m relay.Message) error {
			if m.ID == "slow" {
				close(entered)
				<-open
			}
			mu.Lock()
			defer mu.Unlock()
			got = append(got, m.ID)
			return nil
		}), &relay.Options{Batch: 5, Poll: 10 * time.Millisecond})
		var dead []string
		for i := range 20 {
			id := fmt.Sprintf("dead-%02d", i)
			dead = append(dead, id)
			write(t, o, outbox.Event{ID: id, Topic: "dead", Key: "k"})
		}
		if _, err := o.DB().Exec("UPDATE outbox_events SET state = 2, attempts = 1, settled_ms = 1"); err != nil {
			t.Fatal(err)
		}
		write(t, o, outbox.Event{ID: "slow", Topic: "t", Key: "k"})
		stop := running(t, r)
		<-entered
		time.Sleep(1200 * time.Millisecond) // until it counts as slow
		if n, err := o.RequeueMatching(t.Context(), outbox.DeadLetterQuery{Topic: "dead"}); n != 20 || err != nil {
			t.Fatalf("%d put back, %v", n, err)
		}
		time.Sleep(100 * time.Millisecond)
		write(t, o, outbox.Event{ID: "other", Topic: "t", Key: "other"})
		until(t, "the other key gets on", func() bool {
			mu.Lock()
			defer mu.Unlock()
			return slices.Contains(got, "other")
		})
		close(open)
		open = nil
		until(t, "all are published", func() bool { s, err := o.Stats(t.Context()); return err == nil && s.Pending == 0 })
		stop()
		mu.Lock()
		defer mu.Unlock()
		if want := slices.Concat([]string{"other", "slow"}, dead); !slices.Equal(got, want) {
			t.Errorf("handed over %q, want %q", got, want)
		}
	})
}
