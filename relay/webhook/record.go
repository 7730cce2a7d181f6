package webhook

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/sqloutbox/sqloutbox/dialect"
	"github.com/sqloutbox/sqloutbox/internal/plaintext"
	"github.com/sqloutbox/sqloutbox/internal/rows"
)

const (
	// Part of every SET that records a try.
	lastTry = `claimed_by = '', attempts = attempts + 1, last_status = ?, last_ms = ?, last_answer = ?, last_error = ?`

	// Outcomes, by primary key. Each names the claim: one that has lapsed and was taken fits no row.
	recordDone  = `{update_webhooks} SET state = 1, due_ms = {clock}, settled_ms = {clock}, ` + lastTry + ofClaim
	recordDead  = `{update_webhooks} SET state = 2, due_ms = {clock}, settled_ms = {clock}, ` + lastTry + ofClaim
	recordAgain = `{update_webhooks} SET due_ms = {clock} + ?, ` + lastTry + ofClaim
	giveBack    = `{update_webhooks} SET due_ms = {clock} + ?, claimed_by = ''
WHERE subscription_id = ? AND claimed_by = ? AND state = 0 AND feed_seq IN ({list})`

	ofClaim = `
WHERE subscription_id = ? AND feed_seq = ? AND claimed_by = ? AND state = 0`

	// By primary key. A 410 whose COMMIT was not heard of has been recorded.
	wasGone = `SELECT COUNT(*) FROM {webhook_deliveries} WHERE subscription_id = ? AND feed_seq = ? AND state = 2 AND last_status = 410`

	// By primary key. The version is that of the row that the requests were made for.
	endpointWorks = `UPDATE {subscriptions} SET failing_ms = 0, failures = 0 WHERE id = ? AND version = ?`
	endpointFails = `UPDATE {subscriptions}
SET failing_ms = CASE WHEN failing_ms = 0 THEN {clock} ELSE failing_ms END, failures = failures + ?
WHERE id = ? AND version = ?`
	endpointRests = `UPDATE {subscriptions}
SET rest_ms = CASE WHEN rest_ms < {clock} + ? THEN {clock} + ? ELSE rest_ms END
WHERE id = ? AND version = ?`
)

// maxText bounds what is kept of an answer and of an error, in bytes.
const maxText = 1024

// manyFailures is how many there must have been, beside their time, before a subscription is disabled for them.
const manyFailures = 10

// record writes what came of deliveries, in the order in which all of this module locks rows.
func (l *lane) record(ctx context.Context, tx dialect.Tx, t *turn, row *endpointRow) error {
	slices.SortFunc(t.ended, func(a, b outcome) int { return cmp.Compare(a.feedSeq, b.feedSeq) })
	type returned struct {
		claim string
		wait  time.Duration
	}
	back := make(map[returned][]int64)
	for _, o := range t.ended {
		if o.untouched {
			key := returned{o.claim.id, o.j.wait}
			back[key] = append(back[key], o.feedSeq)
			continue
		}
		if o.j.verdict == gone && !o.isOf(row) {
			o.j.verdict = again // at once: the subscription may have another endpoint by now
		}
		statement, args := o.statement()
		n, err := rows.Exec(ctx, tx, l.w.sql.SQL(statement), append(args, l.id, o.feedSeq, o.claim.id)...)
		if err != nil {
			return err
		}
		switch {
		case n > 0:
			t.fitted = append(t.fitted, o)
		case len(l.unsure) == 0: // else it may have been recorded already
			t.refused++
		case o.j.verdict == gone:
			if err := rows.One(ctx, tx, l.w.sql.SQL(wasGone), []any{l.id, o.feedSeq}, &n); err != nil {
				return err
			}
			if n > 0 {
				t.fitted = append(t.fitted, o)
			}
		}
	}
	keys := slices.SortedFunc(maps.Keys(back), func(a, b returned) int {
		return cmp.Or(cmp.Compare(a.claim, b.claim), cmp.Compare(a.wait, b.wait))
	})
	for _, key := range keys {
		if _, err := l.w.changeList(ctx, tx, giveBack, back[key], key.wait.Milliseconds(), l.id, key.claim); err != nil {
			return err
		}
	}
	return nil
}

func (o *outcome) statement() (string, []any) {
	problem := ""
	if o.a.err != nil {
		problem = plaintext.Cut(o.a.err.Error(), maxText)
	}
	last := []any{int64(o.a.status), o.a.took.Milliseconds(), o.a.text, problem}
	switch o.j.verdict {
	case done:
		return recordDone, last
	case again:
		return recordAgain, append([]any{o.j.wait.Milliseconds()}, last...)
	}
	return recordDead, last
}

// recordEndpoint notes how the endpoint does: for how long every try has failed, and whether it wants to be left alone. One
// try that was done says that it works; it may want to be left alone all the same.
func (l *lane) recordEndpoint(ctx context.Context, tx dialect.Tx, t *turn, row *endpointRow) error {
	works, failures, rest := t.fared(row)
	if slices.ContainsFunc(t.fitted, func(o outcome) bool { return o.isOf(row) && o.j.verdict == gone }) {
		t.disable = &disabling{version: row.version, reason: "the endpoint answered 410 Gone"}
	}
	var err error
	switch {
	case works && (row.failing > 0 || row.failures > 0):
		_, err = rows.Exec(ctx, tx, l.w.sql.SQL(endpointWorks), l.id, row.version)
	case !works && failures > 0:
		_, err = rows.Exec(ctx, tx, l.w.sql.SQL(endpointFails), failures, l.id, row.version)
		since := time.Duration(row.now-row.failing) * time.Millisecond
		if row.failing > 0 && since >= l.w.opts.DisableAfter && row.failures+failures >= manyFailures && t.disable == nil {
			t.disable = &disabling{version: row.version, failing: true, reason: fmt.Sprintf("every try has failed for %v", since.Round(time.Minute))}
		}
	}
	if err == nil && rest > 0 {
		_, err = rows.Exec(ctx, tx, l.w.sql.SQL(endpointRests), rest, rest, l.id, row.version)
	}
	if err != nil {
		return fmt.Errorf("record endpoint: %w", err)
	}
	return nil
}
