package outbox

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"
	"time"

	"github.com/sqloutbox/sqloutbox/internal/feedno"
	"github.com/sqloutbox/sqloutbox/internal/rows"
	"github.com/sqloutbox/sqloutbox/internal/topics"
)

const (
	// By the feed's primary key in order, then each event by its own. An outer join keeps every planner to that order, and
	// shows an event that is missing. It names no payload: InnoDB reads a long one from its own pages for its length alone, and in
	// whatever CASE it stands.
	feedPage = `SELECT f.feed_seq, f.seq, f.published_ms, COALESCE(e.topic, '')
FROM {feed} f LEFT JOIN {events} e ON e.seq = f.seq
WHERE f.feed_seq > ? ORDER BY f.feed_seq LIMIT ?`
	// By primary key.
	feedSizes = `SELECT seq, LENGTH(payload) FROM {events}{use_key} WHERE seq IN ({list})`
	// By primary key.
	feedEvents = `SELECT seq, id, topic, event_key, headers, payload, created_ms FROM {events} WHERE seq IN ({list})`
)

// Bounds of a page.
const (
	defaultFeedPage = 100
	maxFeedPage     = 500
	feedScan        = 1000    // rows that are looked at for topics
	feedSized       = 100     // events whose payloads are measured at once
	feedBytes       = 8 << 20 // of payloads, but one event at least
)

// place is a row of the feed.
type place struct {
	number, seq, published int64
	topic                  string
}

// Read answers the events behind a position, in their order: at most limit, 1 to 500 (0: 100), and fewer where payloads are
// large. With topics, patterns as those of relay.Handlers ("orders.*"), only such events are answered. next is where the
// next page begins: behind all that was looked at, so that it moves on where nothing matches; it is the position itself at
// the head.
//
// Errors: ErrGone (a *GoneError) where what comes next is purged, ErrAhead, ErrEpoch, ErrNoFeed, ErrInvalidOptions.
func (f *Feed) Read(ctx context.Context, after Cursor, limit int, topics ...string) (events []FeedEvent, next Cursor, err error) {
	events, next, err = f.read(ctx, after, limit, topics)
	if err != nil {
		return nil, after, fmt.Errorf("read feed: %w", err)
	}
	return events, next, nil
}

func (f *Feed) read(ctx context.Context, after Cursor, limit int, patterns []string) ([]FeedEvent, Cursor, error) {
	if limit == 0 {
		limit = defaultFeedPage
	}
	if limit < 0 || limit > maxFeedPage {
		return nil, after, fmt.Errorf("%w: limit %d: must be between 0 and %d", ErrInvalidOptions, limit, maxFeedPage)
	}
	if err := checkPatterns(patterns); err != nil {
		return nil, after, err
	}
	s, err := f.state(ctx, f.o.db)
	if err != nil {
		return nil, after, err
	}
	if after, err = within(after, s); err != nil || after.Seq == s.Head {
		return nil, after, err
	}
	q, end, err := f.o.reading(ctx)
	if err != nil {
		return nil, after, err
	}
	defer end()
	page, err := f.page(ctx, q, after, limit, patterns)
	if err != nil {
		return nil, after, err
	}
	if len(page) == 0 {
		return nil, after, f.gone(ctx, q, after, s)
	}
	var wanted []place
	next := after
	for _, p := range page {
		if len(patterns) == 0 || topics.Match(patterns, p.topic) {
			if len(wanted) == limit {
				break
			}
			wanted = append(wanted, p)
		}
		next.Seq = p.number
	}
	n, err := f.fit(ctx, q, wanted)
	if err != nil {
		return nil, after, err
	}
	if n < len(wanted) {
		next.Seq = wanted[n].number - 1
	}
	wanted = wanted[:n]
	events, err := f.events(ctx, q, s.Epoch, wanted)
	if err == nil && len(events) < len(wanted) {
		err = f.gone(ctx, q, after, s) // purged in between
	}
	return events, next, err
}

func checkPatterns(patterns []string) error {
	for _, p := range patterns {
		if err := topics.Check(p); err != nil {
			return fmt.Errorf("%w: %w", ErrInvalidOptions, err)
		}
	}
	return nil
}

// page are the places behind a position that follow it without a gap: since numbers are dense, what is missing is purged.
func (f *Feed) page(ctx context.Context, q rows.Queryer, after Cursor, limit int, patterns []string) (page []place, err error) {
	if len(patterns) > 0 {
		limit = feedScan
	}
	whole := true
	err = rows.Each(ctx, q, f.o.sql.SQL(feedPage), []any{after.Seq, int64(limit)}, func(row *sql.Rows) error {
		var p place
		err := row.Scan(&p.number, &p.seq, &p.published, &p.topic)
		whole = whole && p.topic != "" && p.number == after.Seq+int64(len(page))+1
		if whole {
			page = append(page, p)
		}
		return err
	})
	return page, err
}

// fit is how many events a page has room for, by their payloads: one at least.
func (f *Feed) fit(ctx context.Context, q rows.Queryer, places []place) (n int, err error) {
	bytes := int64(0)
	for part := range slices.Chunk(places, feedSized) {
		sizes := make(map[int64]int64, len(part))
		var seqs []int64
		for _, p := range part {
			seqs = append(seqs, p.seq)
		}
		text, args := f.o.sql.ListOf(feedSizes, seqs, nil, nil)
		err := rows.Each(ctx, q, text, args, func(row *sql.Rows) error {
			var seq, size int64
			err := row.Scan(&seq, &size)
			sizes[seq] = size
			return err
		})
		if err != nil {
			return 0, err
		}
		for _, p := range part {
			if bytes += sizes[p.seq]; n > 0 && bytes > feedBytes {
				return n, nil
			}
			n++
		}
	}
	return n, nil
}

// gone says where the feed goes on behind a position at which it does not.
func (f *Feed) gone(ctx context.Context, q rows.Queryer, after Cursor, s feedno.State) error {
	first, err := f.first(ctx, q, s)
	if err != nil {
		return err
	}
	if first <= after.Seq+1 { // not purge, which goes in order, but a hand has deleted something
		if err := rows.One(ctx, q, f.o.sql.SQL(nextWhole), []any{after.Seq, s.Head + 1}, &first); err != nil {
			return err
		}
	}
	return &GoneError{Cursor{after.Epoch, first - 1}}
}

// nextWhole is the next number whose event is there. By primary keys; it runs only where an event was deleted by hand.
const nextWhole = `SELECT COALESCE((SELECT f.feed_seq FROM {feed} f JOIN {events} e ON e.seq = f.seq
WHERE f.feed_seq > ? ORDER BY f.feed_seq LIMIT 1), ?)`

func (f *Feed) events(ctx context.Context, q rows.Queryer, epoch int64, places []place) ([]FeedEvent, error) {
	if len(places) == 0 {
		return nil, nil
	}
	bySeq := make(map[int64]place, len(places))
	var seqs []int64
	for _, p := range places {
		bySeq[p.seq], seqs = p, append(seqs, p.seq)
	}
	var all []FeedEvent
	text, args := f.o.sql.ListOf(feedEvents, seqs, nil, nil)
	err := rows.Each(ctx, q, text, args, func(row *sql.Rows) error {
		var x FeedEvent
		var headers []byte
		var created int64
		e := &x.Event
		if err := row.Scan(&x.Seq, &e.ID, &e.Topic, &e.Key, &headers, &e.Payload, &created); err != nil {
			return err
		}
		p := bySeq[x.Seq]
		e.Headers, _ = DecodeHeaders(headers) // as a row of plain SQL may have them
		x.Cursor, x.CreatedAt, x.PublishedAt = Cursor{epoch, p.number}, time.UnixMilli(created), time.UnixMilli(p.published)
		all = append(all, x)
		return nil
	})
	slices.SortFunc(all, func(a, b FeedEvent) int { return cmp.Compare(a.Cursor.Seq, b.Cursor.Seq) })
	return all, err
}
