package conformance

import (
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sqloutbox/sqloutbox/internal/rows"
	"github.com/sqloutbox/sqloutbox/outbox"
	"github.com/sqloutbox/sqloutbox/relay/webhook"
)

func webhookRules() []rule {
	var rules []rule
	for _, both := range [][]rule{
		inEach("each subscription has one delivery of each event it wants, whatever is cut and retried", webhookOnce),
		inEach("a settle that is cut at any statement makes no delivery", webhookCut),
		inEach("a settle whose commit was not heard of makes each delivery once", webhookUnheard),
		inEach("beside many subscriptions a settle stays small, and each event is handed over once", webhookMany),
	} {
		rules = append(rules, both...)
	}
	return append(rules,
		rule{"a subscription whose row can't be read misses what is published, and nobody else does", webhookUnreadable},
		rule{"a subscription with topics that would not fit into their column is refused", webhookLongTopics},
		rule{"how much a pause keeps is what the last update says", webhookUpdatedBound},
		rule{"what was missed is refilled: all of it, and nothing that was delivered", webhookRefilled},
		rule{"what a disabled subscription misses after a refill is not forgotten", webhookRefilledEarly},
		rule{"what was missed and is purged is said, and not forgotten", webhookRefillGone},
		rule{"what was missed and is purged is given up by a refill from behind it alone", webhookRefillKeepsMarks},
		rule{"an ordered subscription gets what is refilled in the order of the feed, before what is newer", webhookRefilledInOrder},
		rule{"a refill that was killed holds an ordered subscription up for a minute, and another one goes on", webhookRefillKilled},
		rule{"a purge beside a refill takes nothing of what was missed unsaid", webhookRefillBesidePurge},
		rule{"a subscription that is made while events are published has all from its first one on", webhookLate},
		rule{"a name that can't be a subscription's is refused before the database is asked", webhookNames},
		rule{"what is handed over again is not delivered again", webhookReplayed},
		rule{"a paused subscription keeps what is published, up to its bound", webhookPaused},
		rule{"purge waits for what a subscription is owed, and for nothing dead", webhookPurge},
		rule{"of several workers one sends each delivery", webhookShared},
		rule{"an ordered subscription gets one after the other, whoever works", webhookInOrder},
		rule{"a killed worker's claim is taken when its lease is over", webhookKilled},
		rule{"an outcome that comes after its claim was taken changes nothing", webhookTooLate},
		rule{"a worker whose commit was not heard of records each delivery once", webhookUnheardWorker},
		rule{"an id of a subscription is never given again", webhookIDs},
		rule{"a sweep leaves alone what a subscription is owed that was resumed meanwhile", webhookStaleSweep},
		rule{"a 410 of what a subscription was does not disable it", webhookLate410},
		rule{"an ordered subscription gets nothing late from a worker that was held up while it read", webhookSlowRead},
		rule{"a change of a subscription is for all requests that begin a second later", webhookChanged},
		rule{"an ordered subscription gets what is redelivered in the order of the feed, before what is newer", webhookRedelivered})
}

// webhooks are those of a pool of their own.
func (t *env) webhooks(opts webhook.Options) *webhook.Webhooks {
	return t.webhooksOn(t.another(), opts)
}

func (t *env) webhooksOn(db *sql.DB, opts webhook.Options) *webhook.Webhooks {
	t.Helper()
	opts.AllowHTTP, opts.AllowPrivate = true, true
	opts.Poll = 20 * time.Millisecond
	w, err := webhook.New(t.outboxOn(db, feedOptions()), &opts)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// What an engine says of such a text is its own.
func webhookNames(t *env) {
	w := t.webhooks(webhook.Options{})
	for _, name := range []string{"", "\xff", "a\x00", strings.Repeat("x", webhook.MaxName+1)} {
		s := webhook.Subscription{Name: name, URL: "http://127.0.0.1:1/", Topics: []string{"*"}}
		_, create := w.Create(t.ctx(), s)
		_, find := w.Subscription(t.ctx(), name)
		_, rotate := w.RotateSecret(t.ctx(), name, webhook.Secret{}, 0)
		_, deliveries := w.Deliveries(t.ctx(), name, webhook.DeliveryQuery{})
		_, redeliver := w.Redeliver(t.ctx(), name, webhook.RedeliverQuery{})
		_, refill := w.Refill(t.ctx(), name, 0)
		for what, err := range map[string]error{
			"create": create, "update": w.Update(t.ctx(), s), "find": find, "pause": w.Pause(t.ctx(), name), "resume": w.Resume(t.ctx(), name),
			"rotate": rotate, "delete": w.Delete(t.ctx(), name), "deliveries": deliveries, "redeliver": redeliver, "refill": refill,
		} {
			if !errors.Is(err, outbox.ErrInvalidOptions) {
				t.Errorf("%s of %q: %v, want outbox.ErrInvalidOptions", what, name, err)
			}
		}
	}
}

// subscribe makes a subscription; url may be "" where nothing is sent.
func (t *env) subscribe(w *webhook.Webhooks, name, url string, ordered bool, patterns ...string) {
	t.Helper()
	if url == "" {
		url = "http://127.0.0.1:1/"
	}
	_, err := w.Create(t.ctx(), webhook.Subscription{Name: name, URL: url, Topics: patterns, Ordered: ordered})
	if err != nil {
		t.Fatal(err)
	}
}

func (t *env) subscription(w *webhook.Webhooks, name string) webhook.Info {
	t.Helper()
	i, err := w.Subscription(t.ctx(), name)
	if err != nil {
		t.Fatal(err)
	}
	return i
}

// wantDeliveries fails the case unless a subscription has one delivery of each event of the feed from a position on that has
// one of the topics, each of the right event.
func (t *env) wantDeliveries(name string, from int64, topics ...string) {
	t.Helper()
	list := func(text string, args ...any) (all []string) {
		err := rows.Each(t.ctx(), t.db, t.sql.SQL(text), args, func(row *sql.Rows) error {
			var number, seq int64
			var topic string
			err := row.Scan(&number, &seq, &topic)
			if number >= from && (len(topics) == 0 || slices.Contains(topics, topic)) {
				all = append(all, fmt.Sprintf("%d: event %d", number, seq))
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	want := list(`SELECT f.feed_seq, f.seq, e.topic FROM {feed} f JOIN {events} e ON e.seq = f.seq ORDER BY f.feed_seq`)
	got := list(`SELECT d.feed_seq, d.seq, e.topic FROM {webhook_deliveries} d JOIN {events} e ON e.seq = d.seq
WHERE d.subscription_id = (SELECT id FROM {subscriptions} WHERE name = ?) ORDER BY d.feed_seq`, name)
	equalIDs(t, "deliveries of "+name, got, want)
	n := t.number(`SELECT COUNT(*) FROM {webhook_deliveries} WHERE subscription_id = (SELECT id FROM {subscriptions} WHERE name = ?)`, name)
	if n != int64(len(want)) {
		t.Errorf("%s has %d deliveries, want %d", name, n, len(want))
	}
}

// endpoint keeps what it gets, and answers what it is told to.
type endpoint struct {
	*httptest.Server
	mu     sync.Mutex // guards what is below
	got    []string   // positions in the feed
	at     int        // requests under way
	most   int        // and how many there were at once
	answer func(position string, try int) int
}

func (t *env) endpoint(answer func(position string, try int) int) *endpoint {
	e := &endpoint{answer: answer}
	e.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.WriteHeader(e.serve(r.Header.Get(webhook.HeaderPosition)))
	}))
	t.Cleanup(e.Close)
	return e
}

func (e *endpoint) serve(position string) int {
	e.mu.Lock()
	e.got = append(e.got, position)
	try := 0
	for _, p := range e.got {
		if p == position {
			try++
		}
	}
	e.at++
	e.most = max(e.most, e.at)
	e.mu.Unlock()
	defer func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.at--
	}()
	if e.answer == nil {
		return http.StatusOK
	}
	return e.answer(position, try)
}

func (e *endpoint) all() ([]string, int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.got), e.most
}
