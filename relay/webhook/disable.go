package webhook

import (
	"context"
	"encoding/json"
	"time"

	"github.com/sqloutbox/sqloutbox/dialect"
	"github.com/sqloutbox/sqloutbox/internal/fanout"
	"github.com/sqloutbox/sqloutbox/internal/plaintext"
	"github.com/sqloutbox/sqloutbox/internal/rows"
	"github.com/sqloutbox/sqloutbox/outbox"
)

// TopicDisabled is the topic of the event that says that a subscription was disabled. Its key is the subscription's name, its
// payload a DisabledEvent as JSON. It is an event of this outbox as any other: the relay's publisher gets it, handlers whose topics
// match do, and it is in the feed for everybody who reads that. Subscriptions take it only if they name it, or "sqloutbox.*". It waits
// for no handler where relay.HandlersOptions.RequireHandler is set, and is not held to outbox.Options.MaxPayload.
const TopicDisabled = fanout.OwnTopics + "webhook.disabled"

// DisabledEvent is the payload of TopicDisabled.
type DisabledEvent struct {
	Subscription   string `json:"subscription"`
	Reason         string `json:"reason"`
	FailingSinceMS int64  `json:"failing_since_ms"` // since when every try has failed, by the database's clock
	Failures       int64  `json:"failures"`         // since then, the last one among them
	MissesFrom     int64  `json:"misses_from"`      // position in the feed of the first event that it does not get
}

// By primary key. What it misses begins with the next number of the feed.
const (
	whoFails            = `SELECT name, failing_ms, failures, {clock} FROM {subscriptions} WHERE id = ? AND state = 0 AND version = ?{lock}`
	disableSubscription = `UPDATE {subscriptions}
SET state = 2, since_ms = {clock}, reason = ?, missed_from = CASE WHEN missed_from = 0 THEN ? ELSE missed_from END, version = version + 1
WHERE id = ? AND state = 0`
)

// disabling is why a subscription is to be disabled.
type disabling struct {
	version int64 // of the subscription that it was found for
	failing bool  // for having failed for Options.DisableAfter; else for a 410
	reason  string
}

// disable disables an active subscription, and writes the event about it in the same transaction. It was found in another one:
// so it looks again whether it still is so.
func (w *Webhooks) disable(ctx context.Context, id int64, d *disabling) error {
	reason := d.reason
	var e DisabledEvent
	err := w.change(ctx, func(tx dialect.Tx, head int64) error {
		e = DisabledEvent{Reason: reason}
		var now int64
		err := rows.One(ctx, tx, w.sql.SQL(whoFails), []any{id, d.version}, &e.Subscription, &e.FailingSinceMS, &e.Failures, &now)
		if isNone(err) {
			return nil // another worker was faster, or an operator
		}
		if err != nil {
			return err
		}
		since := time.Duration(now-e.FailingSinceMS) * time.Millisecond
		if d.failing && (e.FailingSinceMS == 0 || since < w.opts.DisableAfter || e.Failures < manyFailures) {
			e.Subscription = ""
			return nil // a try was done meanwhile
		}
		e.MissesFrom = head + 1
		if _, err := rows.Exec(ctx, tx, w.sql.SQL(disableSubscription), plaintext.Cut(reason, maxText), e.MissesFrom, id); err != nil {
			return err
		}
		payload, err := json.Marshal(e)
		if err != nil {
			return err
		}
		_, err = w.own.Write(ctx, tx, outbox.Event{
			Topic: TopicDisabled, Key: e.Subscription, Payload: payload, Headers: map[string]string{"content-type": "application/json"},
		})
		return err
	})
	if err != nil || e.Subscription == "" {
		return err
	}
	w.o.Wake()
	w.log.Error("subscription is disabled", "subscription", e.Subscription, "reason", reason)
	return nil
}
