package webhook

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/sqloutbox/sqloutbox/dialect"
	"github.com/sqloutbox/sqloutbox/internal/fanout"
	"github.com/sqloutbox/sqloutbox/internal/invalid"
	"github.com/sqloutbox/sqloutbox/internal/jsontext"
	"github.com/sqloutbox/sqloutbox/internal/rows"
)

// By the primary key or the unique name. version grows with each, so that a row that is found is a row that is changed.
const (
	insertSubscription = `INSERT INTO {subscriptions}
       (id, name, url, topics, in_order, headers, secrets, kept_max, hold_ms, created_ms, since_ms)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, {clock}, {clock})`
	// Another URL is another endpoint: it has not failed. The URL comes last, since MySQL has what was set before.
	updateSubscription = `UPDATE {subscriptions}
SET failing_ms = CASE WHEN url = ? THEN failing_ms ELSE 0 END, failures = CASE WHEN url = ? THEN failures ELSE 0 END,
    rest_ms = CASE WHEN url = ? THEN rest_ms ELSE 0 END, url = ?, topics = ?, in_order = ?, kept_max = ?, hold_ms = ?, version = version + 1
WHERE name = ? AND state <= 2`
	updateHeaders = `UPDATE {subscriptions}
SET headers = ?, version = version + 1
WHERE name = ? AND state <= 2`
	pauseSubscription = `UPDATE {subscriptions}
SET state = 1, since_ms = {clock}, kept = 0, version = version + 1
WHERE name = ? AND state = 0`
	resumeSubscription = `UPDATE {subscriptions}
SET state = 0, since_ms = {clock}, reason = '', rest_ms = 0, failing_ms = 0, failures = 0, kept = 0, version = version + 1
WHERE name = ? AND state IN (1, 2)`
	readSecrets = `SELECT secrets, {clock}
FROM {subscriptions}
WHERE name = ? AND state <= 2{lock}`
	updateSecrets = `UPDATE {subscriptions}
SET secrets = ?, version = version + 1
WHERE name = ? AND state <= 2`
	markDeleted = `UPDATE {subscriptions}
SET state = 3, name = ?, since_ms = {clock}, secrets = '', headers = '', version = version + 1
WHERE name = ? AND state <= 2`
	findSubscription = `SELECT id FROM {subscriptions} WHERE name = ? AND state <= 2`
)

// Create makes a subscription. It gets every event that is published from now on and has one of its topics. The secrets sign
// its requests, at most MaxSecrets; without any, one is made. It answers the first of them, which can't be asked for again.
//
// Its first request may come before Create returns. A receiver that does not know the secret by then refuses it, and it is tried
// again: so make the secret first, with NewSecret, let the receiver have it, and pass it in. Create turns the feed on.
//
// Errors: ErrExists; outbox.ErrInvalidOptions for a Name, URL, topic, header or secret that won't do, and for topics of more than
// 64 KB as JSON; and the database's.
func (w *Webhooks) Create(ctx context.Context, s Subscription, secrets ...Secret) (Secret, error) {
	if len(secrets) == 0 {
		secrets = []Secret{NewSecret()}
	}
	row, err := w.encode(&s, secrets)
	if err != nil {
		return Secret{}, fmt.Errorf("create subscription: %w", err)
	}
	err = w.change(ctx, func(tx dialect.Tx, _ int64) error {
		id, err := w.nextID(ctx, tx)
		if err != nil {
			return err
		}
		_, err = rows.Exec(ctx, tx, w.sql.SQL(insertSubscription), id, s.Name, s.URL, row.topics, row.inOrder, row.headers, row.secrets,
			row.keptMax, row.hold)
		return err
	})
	switch w.o.Dialect().Classify(err) {
	case dialect.Duplicate, dialect.KeyTaken:
		err = fmt.Errorf("%w: %q", ErrExists, s.Name)
	}
	if err != nil {
		return Secret{}, fmt.Errorf("create subscription: %w", err)
	}
	return secrets[0], nil
}

// Update gives a subscription what s says, from the next event that is published on. Requests follow it as those of Pause do.
// Headers that are nil stay as they are; KeepPaused and PausedHold that are zero become the defaults of this Webhooks. With another
// URL the endpoint has not failed yet, and doesn't rest.
//
// Errors: outbox.ErrInvalidOptions for what is no subscription, ErrUnknownSubscription, and the database's.
func (w *Webhooks) Update(ctx context.Context, s Subscription) error {
	row, err := w.encode(&s, nil)
	if err != nil {
		return fmt.Errorf("update subscription: %w", err)
	}
	err = w.change(ctx, func(tx dialect.Tx, head int64) error {
		id, err := w.find(ctx, tx, s.Name)
		if err == nil {
			err = w.closeMissed(ctx, tx, id, head) // there may be room from now on
		}
		if err == nil {
			err = w.changeOne(ctx, tx, updateSubscription, s.URL, s.URL, s.URL, s.URL, row.topics, row.inOrder, row.keptMax, row.hold, s.Name)
		}
		if err == nil && s.Headers != nil {
			err = w.changeOne(ctx, tx, updateHeaders, row.headers, s.Name)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("update subscription: %w", err)
	}
	return nil
}

// Pause stops the sending to a subscription until Resume. Requests under way are finished; after it has returned this Webhooks
// begins no more of them, and those of other processes for a second at most. What is published meanwhile is kept for it, up to
// Options.KeepPaused; what is more is missed, as Subscriptions says. One that isn't active is left alone.
//
// Errors: ErrUnknownSubscription; outbox.ErrInvalidOptions for what can't be a name; and the database's.
func (w *Webhooks) Pause(ctx context.Context, name string) error {
	return w.setState(ctx, "pause subscription", pauseSubscription, name)
}

// Resume has a subscription that was paused or disabled get what it is owed, from its lowest pending delivery on. What was
// missed meanwhile stays so; see Refill. One that is active is left alone.
//
// Errors: ErrUnknownSubscription; outbox.ErrInvalidOptions for what can't be a name; and the database's.
func (w *Webhooks) Resume(ctx context.Context, name string) error {
	return w.setState(ctx, "resume subscription", resumeSubscription, name)
}

func (w *Webhooks) setState(ctx context.Context, operation, statement, name string) error {
	err := w.change(ctx, func(tx dialect.Tx, head int64) error {
		id, err := w.find(ctx, tx, name)
		if err != nil {
			return err
		}
		if _, err := rows.Exec(ctx, tx, w.sql.SQL(statement), name); err != nil {
			return err
		}
		return w.closeMissed(ctx, tx, id, head)
	})
	if err != nil {
		return fmt.Errorf("%s: %w", operation, err)
	}
	return nil
}

// RotateSecret gives a subscription a new secret, or makes one if fresh is zero, and answers it. Until keep has passed all
// requests are signed with the former ones too, so that the receiver can change over at any time meanwhile. At most MaxSecrets
// sign at once. Requests follow it as those of Pause do. As with Create, a receiver that is to know the new one alone should have it before.
//
// Errors: outbox.ErrInvalidOptions for what can't be a name, a key that can't sign, a keep below zero, and one secret too many (a shorter keep, or 0,
// helps); ErrUnknownSubscription; and the database's.
func (w *Webhooks) RotateSecret(ctx context.Context, name string, fresh Secret, keep time.Duration) (Secret, error) {
	if fresh.IsZero() {
		fresh = NewSecret()
	}
	if !fresh.signs() || keep < 0 {
		return Secret{}, fmt.Errorf("rotate secret: %w: a public key can't sign, and keep %v must not be negative", invalid.ErrOptions, keep)
	}
	if err := checkName(name); err != nil {
		return Secret{}, fmt.Errorf("rotate secret: %w", err)
	}
	err := w.run(ctx, func(tx dialect.Tx) error {
		var text []byte
		var now int64
		err := rows.One(ctx, tx, w.sql.SQL(readSecrets), []any{name}, &text, &now)
		if errors.Is(err, sql.ErrNoRows) {
			err = fmt.Errorf("%w: %q", ErrUnknownSubscription, name)
		}
		if err != nil {
			return err
		}
		if text, err = rotated(text, fresh, now, now+keep.Milliseconds()); err != nil {
			return err
		}
		return w.changeOne(ctx, tx, updateSecrets, text, name)
	})
	w.changed()
	if err != nil {
		return Secret{}, fmt.Errorf("rotate secret: %w", err)
	}
	return fresh, nil
}

// Delete takes a subscription away, with all its deliveries. Requests end as those of Pause do. If it ends half-way the
// subscription is gone all the same, and Sweep deletes what is left.
//
// Errors: ErrUnknownSubscription; outbox.ErrInvalidOptions for what can't be a name; and the database's.
func (w *Webhooks) Delete(ctx context.Context, name string) error {
	var id int64
	err := w.change(ctx, func(tx dialect.Tx, _ int64) (err error) {
		if id, err = w.find(ctx, tx, name); err != nil {
			return err
		}
		return w.changeOne(ctx, tx, markDeleted, "deleted "+uuid.NewString(), name) // another one may have its name
	})
	if err == nil {
		err = w.dropDeleted(ctx, id)
	}
	if err != nil {
		return fmt.Errorf("delete subscription: %w", err)
	}
	return nil
}

func (w *Webhooks) find(ctx context.Context, tx rows.Queryer, name string) (id int64, err error) {
	if err := checkName(name); err != nil {
		return 0, err
	}
	err = rows.One(ctx, tx, w.sql.SQL(findSubscription), []any{name}, &id)
	if errors.Is(err, sql.ErrNoRows) {
		err = fmt.Errorf("%w: %q", ErrUnknownSubscription, name)
	}
	return id, err
}

// changeOne runs a statement whose last argument is the name of the row that it changes.
func (w *Webhooks) changeOne(ctx context.Context, tx dialect.Tx, statement string, args ...any) error {
	n, err := rows.Exec(ctx, tx, w.sql.SQL(statement), args...)
	if err == nil && n == 0 {
		err = fmt.Errorf("%w: %q", ErrUnknownSubscription, args[len(args)-1])
	}
	return err
}

// encoded are a subscription's columns.
type encoded struct {
	topics, headers, secrets []byte
	inOrder                  int64
	keptMax, hold            int64
}

func (w *Webhooks) encode(s *Subscription, secrets []Secret) (e encoded, err error) {
	if err := w.checkSubscription(s); err != nil {
		return e, err
	}
	var keys []storedKey
	for i, k := range secrets {
		if !k.signs() {
			return e, fmt.Errorf("%w: secret %d can't sign", invalid.ErrOptions, i)
		}
		keys = append(keys, storedKey{Key: k.Reveal()})
	}
	if s.Ordered {
		e.inOrder = 1
	}
	e.keptMax, e.hold = int64(cmp.Or(s.KeepPaused, w.opts.KeepPaused)), cmp.Or(s.PausedHold, w.opts.PausedHold).Milliseconds()
	e.topics, err = fanout.EncodeTopics(s.Topics)
	if err != nil {
		return e, err
	}
	if e.headers, err = jsontext.Bounded(s.Headers, jsontext.MaxBlob); err != nil {
		return e, err
	}
	if e.secrets, err = encodeKeys(keys); err == nil && len(e.secrets) > jsontext.MaxBlob {
		err = fmt.Errorf("%w: %d secrets are too many", invalid.ErrOptions, len(keys))
	}
	return e, err
}
