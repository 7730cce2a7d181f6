package conformance

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"

	"github.com/sqloutbox/sqloutbox/outbox"
	"github.com/sqloutbox/sqloutbox/relay"
	"github.com/sqloutbox/sqloutbox/relay/webhook"
)

func columnRules() []rule {
	return inEach("columns that a later release adds are nothing to a pool in use and a relay that runs", columnsAdded)
}

// As in a rolling update. The pool has a prepared statement for all that is done, and the server a plan.
func columnsAdded(t *env, order relay.Order) {
	t.noEffects()
	o := t.feeding()
	x := &operations{t: t, o: o, w: t.webhooksOn(o.DB(), webhook.Options{}), in: t.inboxOn(o.DB()), c: t.crew()}
	opts := keeping(order)
	opts.Observers = []relay.Observer{x.w}
	stop := t.start(x.c.with(o, opts, nil, x.c.one("a", x.handle)))
	stopWorker := t.sends(x.w)
	x.all("before")
	for _, table := range libraryTables {
		t.exec(`ALTER TABLE ` + table + ` ADD COLUMN conformance_later BIGINT NOT NULL DEFAULT 1`)
		defer t.exec(`ALTER TABLE ` + table + ` DROP COLUMN conformance_later`)
	}
	x.all("after")
	t.mustStop(stop)
	stopWorker()
}

// operations are all that a host, its operator and its consumers do, on one pool, beside a relay and a worker on the same one.
type operations struct {
	t  *env
	o  *outbox.Outbox
	w  *webhook.Webhooks
	in *outbox.Inbox
	c  *crew

	first int64 // position in the feed of what this round has published
}

func (x *operations) handle(_ context.Context, _ *sql.Tx, m relay.Message) error {
	switch {
	case strings.Contains(m.ID, "dead") && !m.Requeued:
		return permanent
	case strings.Contains(m.ID, "failing") && m.Attempt == 1:
		return relay.RetryAfter(0, errNo)
	}
	return nil
}

// all does each once, under names that begin with round.
func (x *operations) all(round string) {
	x.events(round)
	x.look(round)
	x.consume(round)
	x.follow(round)
	x.send(round)
	x.retire(round)
	x.purge(round)
}

// step fails the case if one of them does.
func (x *operations) step(round, what string, err error) {
	x.t.Helper()
	if err != nil {
		x.t.Fatalf("%s: %s: %v", round, what, err)
	}
}

// count is step for what answers how many it took.
func (x *operations) count(round, what string, want int) func(n int, err error) {
	return func(n int, err error) {
		x.t.Helper()
		if err == nil && n != want {
			err = fmt.Errorf("%d, want %d", n, want)
		}
		x.step(round, what, err)
	}
}

func (x *operations) published(round string, n int64) {
	x.t.Helper()
	x.t.eventually(round+": what is due is settled", func() bool {
		return x.t.number(`SELECT COUNT(*) FROM {events} WHERE state = 1`) == n && x.t.number(`SELECT COUNT(*) FROM {events} WHERE state NOT IN (1, 2, 3)`) == 0
	})
}

// events leaves five that are published.
func (x *operations) events(round string) {
	t, ctx := x.t, x.t.ctx()
	e := t.endpoint(nil)
	t.subscribe(x.w, round, e.URL, false, "*")
	var list []outbox.Event
	for _, name := range []string{"first", "failing", "behind", "dead", "dead too", "later"} {
		list = append(list, outbox.Event{ID: round + " " + name, Topic: "conformance", Key: "k"})
	}
	list[5].Delay = time.Hour
	_, err := t.tryWrite(x.o, list...)
	x.step(round, "write", err)
	x.published(round, 3)
	dead, err := x.o.DeadLetters(ctx, outbox.DeadLetterQuery{})
	x.count(round, "dead letters", 2)(len(dead), err)
	x.count(round, "requeue", 1)(x.o.Requeue(ctx, list[3].ID))
	x.count(round, "discard", 1)(x.o.Discard(ctx, list[4].ID))
	x.count(round, "requeue what fits", 0)(x.o.RequeueMatching(ctx, outbox.DeadLetterQuery{Topic: "none"}))
	x.count(round, "discard what fits", 0)(x.o.DiscardMatching(ctx, outbox.DeadLetterQuery{Topic: "none"}))
	x.step(round, "pause", x.o.Pause(ctx, outbox.AllTopics))
	pauses, err := x.o.Pauses(ctx)
	x.count(round, "pauses", 1)(len(pauses), err)
	x.step(round, "resume", x.o.Resume(ctx, outbox.AllTopics))
	t.makeDue()
	x.published(round, 5)
}

func (x *operations) look(round string) {
	ctx := x.t.ctx()
	x.step(round, "check", x.o.Check(ctx))
	x.step(round, "check the inbox", x.in.Check(ctx))
	x.step(round, "health", x.o.Health(ctx, outbox.HealthOptions{}))
	s, err := x.o.Stats(ctx)
	x.count(round, "stats", 5)(int(s.Published), err)
	lag, err := x.o.Lag(ctx)
	x.count(round, "lag", 0)(len(lag), err)
	held, err := x.o.HeldKeys(ctx, outbox.HeldKeyQuery{})
	x.count(round, "held keys", 0)(len(held), err)
	relays, err := x.o.Relays(ctx)
	x.count(round, "relays", 1)(len(relays), err)
	_, err = x.o.HandlerStats(ctx)
	x.step(round, "statistics of handlers", err)
	_, err = x.o.Clock(ctx)
	x.step(round, "clock", err)
}

func (x *operations) consume(round string) {
	for _, want := range []bool{true, false} {
		first, err := x.t.handle(x.o, "consumer", round)
		x.step(round, "handle a message", err)
		if first != want {
			x.t.Errorf("%s: a message is the first: %v, want %v", round, first, want)
		}
	}
	x.count(round, "purge the inbox", 0)(x.in.Purge(x.t.ctx(), time.Hour))
}

func (x *operations) follow(round string) {
	ctx, f := x.t.ctx(), x.o.Feed()
	from, err := f.Oldest(ctx)
	x.step(round, "oldest", err)
	x.first = from.Seq + 1
	x.step(round, "register a cursor", f.Register(ctx, round, from, 0))
	page, next, err := f.Read(ctx, from, 0)
	x.count(round, "read the feed", 5)(len(page), err)
	x.step(round, "advance a cursor", f.Advance(ctx, round, from, next))
	x.step(round, "touch a cursor", f.Touch(ctx, round))
	at, err := f.Position(ctx, round)
	if err == nil && at != next {
		err = fmt.Errorf("%v, want %v", at, next)
	}
	x.step(round, "position of a cursor", err)
	cursors, err := f.Cursors(ctx)
	x.count(round, "cursors", 1)(len(cursors), err)
	x.step(round, "forget a cursor", f.Forget(ctx, round))
	x.step(round, "back-fill", f.BackFill(ctx, nil))
}

func (x *operations) send(round string) {
	t, ctx := x.t, x.t.ctx()
	done := func() bool { return t.subscription(x.w, round).Done == 5 }
	t.eventually(round+": all is sent", done)
	x.count(round, "redeliver", 1)(x.w.Redeliver(ctx, round, webhook.RedeliverQuery{From: x.first, To: x.first, Done: true}))
	t.eventually(round+": all is sent again", done)
	x.step(round, "pause a subscription", x.w.Pause(ctx, round))
	x.step(round, "resume a subscription", x.w.Resume(ctx, round))
	x.step(round, "update a subscription", x.w.Update(ctx, webhook.Subscription{Name: round, URL: "http://127.0.0.1:1/", Topics: []string{"none"}}))
	_, err := x.w.RotateSecret(ctx, round, webhook.Secret{}, 0)
	x.step(round, "rotate a secret", err)
	all, err := x.w.Subscriptions(ctx)
	x.count(round, "subscriptions", 1)(len(all), err)
	deliveries, err := x.w.Deliveries(ctx, round, webhook.DeliveryQuery{State: webhook.Done})
	x.count(round, "deliveries", 5)(len(deliveries), err)
	x.count(round, "refill", 0)(x.w.Refill(ctx, round, x.first))
	x.step(round, "delete a subscription", x.w.Delete(ctx, round))
	_, err = x.w.Sweep(ctx) // of what is deleted, the worker may have swept some
	x.step(round, "sweep", err)
}

func (x *operations) retire(round string) {
	ctx, name := x.t.ctx(), round+" retired"
	h, err := relay.NewHandlers(x.o, nil)
	x.step(round, "make handlers", err)
	x.step(round, "add a handler", h.Add(fromNow(x.c.one(name, nil))))
	x.t.relayOn(x.o, h, keeping(relay.OrderPerKey)) // which needs no run to announce
	x.step(round, "announce", h.Announce(ctx))
	x.step(round, "retire", x.o.RetireHandler(ctx, name))
}

func (x *operations) purge(round string) {
	x.t.exec(`UPDATE {feed} SET published_ms = 1`)
	x.t.exec(`UPDATE {events} SET due_ms = 1, settled_ms = 1 WHERE state = 1`)
	x.count(round, "purge", 5)(x.o.Purge(x.t.ctx(), outbox.PurgeOptions{Published: time.Hour}))
	_, err := x.o.Feed().NewEpoch(x.t.ctx())
	x.step(round, "new epoch", err)
}
