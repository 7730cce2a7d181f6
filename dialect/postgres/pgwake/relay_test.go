package pgwake

import (
	"context"
	"fmt"
	"runtime/pprof"
	"strings"
	"testing"
	"time"

	"github.com/sqloutbox/sqloutbox/relay"
)

// A relay that polls once an hour gets through no more than a few rounds of these tests by its own looks.
const rounds = 20

// startRelay is another process as far as the database knows: an outbox and a pool of its own. It answers the relay and
// what it publishes.
func startRelay(t *testing.T, address string) (*relay.Relay, <-chan string) {
	t.Helper()
	published := make(chan string)
	r, err := relay.New(newOutbox(t, address), relay.PublisherFunc(func(ctx context.Context, m relay.Message) error {
		select {
		case published <- string(m.Payload):
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}), &relay.Options{Poll: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
	return r, published
}

func TestARelayIsWokenByInTxElsewhere(t *testing.T) {
	onPostgres(t, func(t *testing.T, address string) {
		r, published := startRelay(t, address)
		listen(t, newNotifier(t, address, nil), r)

		o := newOutbox(t, address)
		o.Attach(newNotifier(t, address, nil))
		for i := range rounds {
			want := fmt.Sprint(i)
			write(t, o, want)
			if got := <-published; got != want {
				t.Fatalf("published %q, want %q", got, want)
			}
		}
	})
}

// Nobody tells of these events: the listener's coming up is all that the relay hears.
func TestEventsWrittenWhileTheListenerWasAwayAreFound(t *testing.T) {
	onPostgres(t, func(t *testing.T, address string) {
		r, published := startRelay(t, address)
		n := newNotifier(t, address, nil)
		var g gate
		g.put(n)
		up := newWakes()
		listen(t, n, r, up)
		<-up
		o := newOutbox(t, address)
		for i := range rounds {
			g.close()
			want := fmt.Sprint(i)
			write(t, o, want)
			g.open()
			<-up
			if got := <-published; got != want {
				t.Fatalf("published %q, want %q", got, want)
			}
		}
	})
}

func TestGoroutinesEnd(t *testing.T) {
	onPostgres(t, func(t *testing.T, address string) {
		n, woken := newNotifier(t, address, nil), newWakes()
		stop := listen(t, n, woken)
		<-woken
		n.Wake()
		<-woken
		if !strings.Contains(stacks(t), "pgwake.(*Notifier)") {
			t.Error("the test does not see the goroutines")
		}
		stop()
		n.Close()
		if all := stacks(t); strings.Contains(all, "pgwake.(*Notifier)") {
			t.Errorf("something goes on:\n%s", all)
		}
	})
}

func stacks(t *testing.T) string {
	t.Helper()
	var all strings.Builder
	if err := pprof.Lookup("goroutine").WriteTo(&all, 1); err != nil {
		t.Fatal(err)
	}
	return all.String()
}
