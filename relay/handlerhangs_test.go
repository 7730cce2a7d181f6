package relay_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/sqloutbox/sqloutbox/internal/engines"
	"github.com/sqloutbox/sqloutbox/outbox"
	"github.com/sqloutbox/sqloutbox/relay"
)

// Each call is alone in its process, since one attempt is all. A handler with one place does not return: what comes for it is
// put off at once, and does not keep the process's other handlers waiting for that place.
func TestAHandlerThatHangsKeepsItsPlaceFromItsOwnEventsAlone(t *testing.T) {
	engines.EachAtOnce(t, func(t *testing.T, e *engines.Engine) {
		o := newOutbox(t, e)
		finish := make(chan struct{})
		h := handlersOf(t, o, nil,
			relay.Handler{Name: "hangs", Topics: []string{"hangs"}, From: relay.FromOldest, Concurrency: 1,
				NoTx: func(context.Context, relay.Message) error { <-finish; return nil }},
			relay.Handler{Name: "other", Topics: []string{"other"}, From: relay.FromOldest, Tx: nothing})
		r := relayOf(t, o, h, &relay.Options{MaxAttempts: 1, PublishTimeout: 200 * time.Millisecond, Poll: 10 * time.Millisecond})
		ctx, stop := context.WithCancel(t.Context())
		over := make(chan error, 1)
		go func() { over <- r.Run(ctx) }()
		defer func() {
			close(finish)
			stop()
			if err := <-over; err != nil && !errors.Is(err, relay.ErrStuck) { // it may not have returned yet
				t.Error(err)
			}
		}()
		write(t, o, outbox.Event{ID: "first", Topic: "hangs"})
		until(t, "the first was given up", func() bool {
			s, err := o.Stats(t.Context())
			return err == nil && s.Dead == 1
		})
		write(t, o, outbox.Event{ID: "second", Topic: "hangs"}, outbox.Event{Topic: "other"})
		until(t, "the other handler has had its event", func() bool {
			s, err := o.Stats(t.Context())
			return err == nil && s.Pending == 1
		})
		var why string
		err := o.DB().QueryRow("SELECT last_error FROM outbox_events WHERE id = 'second'").Scan(&why)
		if err != nil || !strings.Contains(why, "as many calls as its Concurrency") {
			t.Errorf("the second waits because %q, %v", why, err)
		}
	})
}
