package conformance

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/sqloutbox/sqloutbox/internal/hookdb"
	"github.com/sqloutbox/sqloutbox/outbox"
	"github.com/sqloutbox/sqloutbox/relay"
)

func feedOptions() *outbox.Options { return &outbox.Options{Feed: true} }

// publishedInTrouble has three relays publish what four writers commit, and answers that: connections of the relays are cut
// eight times, and events fail. The writers of a key take turns, so that its order is that of insertion.
func (t *env) publishedInTrouble(order relay.Order, topic func(writer int) string) (committed []string) {
	t.Helper()
	p := &receiver{answer: func(context.Context, relay.Message) error {
		if rand.IntN(15) == 0 {
			return relay.RetryAfter(0, errNo)
		}
		return nil
	}}
	const apart, cuts = 25, 8 // every so many statements, some times
	var statements atomic.Int64
	hooks := hookdb.Hooks{After: func(string) error {
		if n := statements.Add(1); n%apart == 0 && n <= cuts*apart {
			return hookdb.ErrCut
		}
		return nil
	}}
	opts := keeping(order)
	opts.Lease, opts.MaxAttempts, opts.Batch = time.Second, 1000, 7
	var stops []func() error
	for range 3 {
		stops = append(stops, t.start(t.relayOn(t.outboxOn(t.hooked(hooks), feedOptions()), p, opts)))
	}
	for done := false; !done; done = statements.Load() >= cuts*apart { // until all cuts are made
		committed = append(committed, t.commits(4, 10, 3, func(ctx context.Context, o *outbox.Outbox, tx *sql.Tx, writer, _ int) ([]string, error) {
			e := outbox.Event{Topic: topic(writer), Key: fmt.Sprint(writer)}
			return o.Write(ctx, tx, e, e)
		})...)
		t.allPublished("in trouble")
	}
	for _, stop := range stops {
		t.mustStop(stop)
	}
	return committed
}

func (t *env) allPublished(what string) {
	t.Helper()
	t.eventually(what+": all is published", func() bool { return t.number(`SELECT COUNT(*) FROM {events} WHERE state <> 1`) == 0 })
}

// strike cuts a connection once.
type strike struct {
	hookdb.Hooks
	what string
	done *atomic.Bool
}

func strikeBefore(what string, is func(query string) bool) strike {
	c := strike{what: "cut before " + what, done: new(atomic.Bool)}
	c.Before = c.at(is)
	return c
}

// strikeBeforeCommit cuts the transaction that has sent a statement, so that it did not happen.
func strikeBeforeCommit(of func(query string) bool) strike {
	c := strike{what: "cut before COMMIT", done: new(atomic.Bool)}
	c.Before = c.at(commitOf(of))
	return c
}

// strikeAfterCommit cuts it once it has happened, so that it is not heard of.
func strikeAfterCommit(of func(query string) bool) strike {
	c := strike{what: "cut after COMMIT", done: new(atomic.Bool)}
	c.After = c.at(commitOf(of))
	return c
}

func (c strike) at(is func(query string) bool) func(query string) error {
	return func(query string) error {
		if is(query) && c.done.CompareAndSwap(false, true) {
			return hookdb.ErrCut
		}
		return nil
	}
}

// commitOf tells the first COMMIT after a statement.
func commitOf(is func(query string) bool) func(query string) bool {
	var sent atomic.Bool
	return func(query string) bool {
		if is(query) {
			sent.Store(true)
		}
		return query == hookdb.Commit && sent.Load()
	}
}

// publishedThrough runs a relay with a feed, which is cut off once, until all is published.
func (t *env) publishedThrough(c strike, order relay.Order) {
	t.Helper()
	opts := keeping(order)
	opts.Lease = time.Second // a claim whose commit was not heard of lapses
	base := t.another()
	db := hookdb.Open(base, c.Hooks)
	stop := t.start(t.relayOn(t.outboxOn(db, feedOptions()), &receiver{}, opts))
	t.allPublished(c.what)
	t.mustStop(stop)
	_, _ = db.Close(), base.Close()
	if !c.done.Load() {
		t.Errorf("%s: it was not seen", c.what)
	}
}
