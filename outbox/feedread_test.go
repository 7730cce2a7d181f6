package outbox

import (
	"math"
	"testing"
	"time"

	"github.com/sqloutbox/sqloutbox/internal/engines"
	"github.com/sqloutbox/sqloutbox/internal/sqltext"
)

// The server counts for all its sessions: what reads beside the test adds to a try, and not to each.
func TestAPageReadsNoLongPayloadOfWhatItLeavesOut(t *testing.T) {
	const events, pages = 32, 64 // of 16 KiB, of each event's payload
	engines.Each(t, func(t *testing.T, e *engines.Engine) {
		db, d := e.Migrated(t)
		if d.Name() != "mysql" {
			t.Skip("it reads no payload for its length")
		}
		o, err := New(db, d, &Options{Feed: true})
		if err != nil {
			t.Fatal(err)
		}
		r := sqltext.New(d, "", sqltext.DefaultPrefix)
		exec := func(text string, args ...any) {
			t.Helper()
			if _, err := db.ExecContext(t.Context(), r.SQL(text), args...); err != nil {
				t.Fatal(err)
			}
		}
		exec(`INSERT INTO {counters} (name, value) VALUES ('feed', ?), ('feed_epoch', 1)`, events)
		for n := range events {
			exec(`INSERT INTO {events} (seq, id, topic, payload, state, feed_seq) VALUES (?, ?, 'long', REPEAT('x', 16384 * ?), 1, ?)`, n+1, n+1, pages, n+1)
			exec(`INSERT INTO {feed} (feed_seq, seq, published_ms) VALUES (?, ?, 0)`, n+1, n+1)
		}
		requests := func() (n int64) {
			var name string
			if err := db.QueryRowContext(t.Context(), `SHOW GLOBAL STATUS LIKE 'Innodb_buffer_pool_read_requests'`).Scan(&name, &n); err != nil {
				t.Fatal(err)
			}
			return n
		}
		least := int64(math.MaxInt64)
		for end := time.Now().Add(30 * time.Second); least > events*pages/2 && time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
			before := requests()
			page, next, err := o.Feed().Read(t.Context(), Cursor{}, 0, "another")
			if len(page) != 0 || next.Seq != events || err != nil {
				t.Fatalf("%d events, up to %v, %v", len(page), next, err)
			}
			least = min(least, requests()-before)
		}
		if least > events*pages/2 {
			t.Errorf("%d pages were read at least, as many as all payloads have: %d", least, events*pages)
		}
		page, next, err := o.Feed().Read(t.Context(), Cursor{}, 0, "long")
		if len(page) != 8 || next.Seq != 8 || err != nil { // 8 MiB
			t.Errorf("%d events, up to %v, %v, want 8", len(page), next, err)
		}
	})
}
