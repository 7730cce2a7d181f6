package relay_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sqloutbox/sqloutbox/internal/engines"
	"github.com/sqloutbox/sqloutbox/internal/hookdb"
	"github.com/sqloutbox/sqloutbox/outbox"
	"github.com/sqloutbox/sqloutbox/relay"
)

// published counts.
type published struct{ atomic.Int64 }

func (p *published) Published(relay.Message, time.Duration) { p.Add(1) }

// In OrderNone a turn that has recorded an outcome looks for more in a statement after its COMMIT. That statement fails: what
// was recorded stays recorded, and is told.
func TestALookThatFailsAfterACommitHidesNothing(t *testing.T) {
	engines.Each(t, func(t *testing.T, e *engines.Engine) {
		o := newOutbox(t, e)
		write(t, o, outbox.Event{Topic: "t"})
		var settles, settled, cut atomic.Bool
		db := hookdb.Open(o.DB(), hookdb.Hooks{
			Before: func(query string) error {
				if settled.Load() && strings.HasPrefix(query, "SELECT (SELECT due_ms") && cut.CompareAndSwap(false, true) {
					return hookdb.ErrCut
				}
				return nil
			},
			After: func(query string) error {
				settles.Store(settles.Load() || kindOf(query) == "settle")
				settled.Store(settled.Load() || settles.Load() && query == hookdb.Commit)
				return nil
			},
		})
		defer db.Close()
		var told published
		r := relayOf(t, outboxOn(t, db, o), relay.PublisherFunc(func(context.Context, relay.Message) error { return nil }),
			&relay.Options{Order: relay.OrderNone, Observers: []relay.Observer{&told}})
		drain(t, r, 1)
		if told.Load() != 1 {
			t.Errorf("%d were told, want 1", told.Load())
		}
		if !cut.Load() {
			t.Error("no look failed")
		}
	})
}
