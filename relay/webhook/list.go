package webhook

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/sqloutbox/sqloutbox/internal/fanout"
	"github.com/sqloutbox/sqloutbox/internal/rows"
)

// State is that of a subscription.
type State int

// States of a subscription.
const (
	Active   State = fanout.Active
	Paused   State = fanout.Paused
	Disabled State = fanout.Disabled // by a 410, or for having failed for Options.DisableAfter
)

// String is the state in a word.
func (s State) String() string {
	switch s {
	case Active:
		return "active"
	case Paused:
		return "paused"
	case Disabled:
		return "disabled"
	}
	return fmt.Sprintf("state %d", int(s))
}

// Info is what there is to know of a subscription. It holds no secret, and of its headers only their names.
type Info struct {
	Name        string
	URL         string
	Topics      []string
	Ordered     bool
	HeaderNames []string
	CreatedAt   time.Time

	State  State
	Since  time.Time // of State
	Reason string    // Disabled: why

	FailingSince time.Time // every try has failed since; zero: the last one was done
	Failures     int64     // since then
	RestsUntil   time.Time // as its endpoint has asked, zero or past: it doesn't

	Kept       int64 // paused: deliveries that were kept for it in this pause
	Missed     int64 // events that a pause had no room for, and that were not refilled
	MissedFrom int64 // position in the feed of the first event that it has missed, paused or disabled; 0: none; see Refill
	KeepPaused int
	PausedHold time.Duration

	// Broken: its row can't be read, and why. Broken topics: it misses what is published, and Refill can make that once Update has
	// mended it. Broken headers: nothing is sent until then.
	Broken string

	Pending, Done, Dead int64 // deliveries that are there
}

const (
	// By the unique name, and by the index (subscription_id, state, feed_seq): it counts what is kept.
	readInfos   = selectInfos + ` WHERE state <= 2 ORDER BY name`
	readInfo    = selectInfos + ` WHERE state <= 2 AND name = ?`
	selectInfos = `SELECT id, name, url, topics, in_order, headers, state, since_ms, reason, created_ms, rest_ms, failing_ms, failures, kept,
       missed, missed_from, kept_max, hold_ms
FROM {subscriptions}`
	countDeliveries = `SELECT state, COUNT(*) FROM {webhook_deliveries}{use_webhooks_order} WHERE subscription_id = ? GROUP BY state`
)

// Subscriptions are all subscriptions, by name. Errors: the database's alone.
func (w *Webhooks) Subscriptions(ctx context.Context) ([]Info, error) {
	out, err := w.infos(ctx, "")
	if err != nil {
		return nil, fmt.Errorf("list subscriptions: %w", err)
	}
	return out, nil
}

// infos are those of all subscriptions, or of the one of a name.
func (w *Webhooks) infos(ctx context.Context, name string) ([]Info, error) {
	var out []Info
	var ids []int64
	text, args := readInfos, []any(nil)
	if name != "" {
		text, args = readInfo, []any{name}
	}
	err := rows.Each(ctx, w.o.DB(), w.sql.SQL(text), args, func(row *sql.Rows) error {
		i, id, err := scanInfo(row)
		out, ids = append(out, i), append(ids, id)
		return err
	})
	for n := range out {
		if err == nil {
			err = w.countInto(ctx, ids[n], &out[n])
		}
	}
	return out, err
}

// Subscription is the one of a name. Errors: ErrUnknownSubscription; outbox.ErrInvalidOptions for what can't be a name.
func (w *Webhooks) Subscription(ctx context.Context, name string) (Info, error) {
	if err := checkName(name); err != nil {
		return Info{}, fmt.Errorf("read subscription: %w", err)
	}
	all, err := w.infos(ctx, name)
	if err != nil {
		return Info{}, fmt.Errorf("read subscription: %w", err)
	}
	if len(all) == 0 {
		return Info{}, fmt.Errorf("read subscription: %w: %q", ErrUnknownSubscription, name)
	}
	return all[0], nil
}

func scanInfo(row *sql.Rows) (i Info, id int64, err error) {
	var patterns, headers []byte
	var since, created, rest, failing, hold int64
	err = row.Scan(&id, &i.Name, &i.URL, &patterns, &i.Ordered, &headers, &i.State, &since, &i.Reason, &created, &rest, &failing,
		&i.Failures, &i.Kept, &i.Missed, &i.MissedFrom, &i.KeepPaused, &hold)
	if err != nil {
		return i, 0, err
	}
	i.Since, i.CreatedAt, i.RestsUntil, i.FailingSince = asTime(since), asTime(created), asTime(rest), asTime(failing)
	i.PausedHold = time.Duration(hold) * time.Millisecond
	if i.Topics, err = fanout.DecodeTopics(patterns); err != nil {
		i.Broken = "the column topics can't be read"
	}
	var values map[string]string
	if json.Unmarshal(headers, &values) != nil { // its error could show what it has read
		i.Broken = errHeadersColumn.Error()
	}
	i.HeaderNames = slices.Sorted(maps.Keys(values))
	return i, id, nil
}

var errHeadersColumn = errors.New("the column headers can't be read")

func asTime(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms)
}

func (w *Webhooks) countInto(ctx context.Context, id int64, i *Info) error {
	missed, err := w.missedRanges(ctx, w.o.DB(), id)
	if err != nil {
		return err
	}
	for n, m := range missed {
		if i.Missed += m.n; n == 0 {
			i.MissedFrom = m.from // before what is open
		}
	}
	return rows.Each(ctx, w.o.DB(), w.sql.SQL(countDeliveries), []any{id}, func(row *sql.Rows) error {
		var state, n int64
		err := row.Scan(&state, &n)
		switch state {
		case fanout.Pending:
			i.Pending = n
		case fanout.Done:
			i.Done = n
		case fanout.Dead:
			i.Dead = n
		}
		return err
	})
}
