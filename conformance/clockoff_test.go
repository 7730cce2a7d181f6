package conformance_test

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sqloutbox/sqloutbox/conformance"
	"github.com/sqloutbox/sqloutbox/dialect"
	"github.com/sqloutbox/sqloutbox/internal/engines"
	"github.com/sqloutbox/sqloutbox/migrations"
)

// offClock is a database whose clock is off by some time: to it, this process is one whose own clock is off by as much the
// other way.
type offClock struct {
	dialect.Dialect
	by time.Duration
}

func (d offClock) Clock() string {
	return fmt.Sprintf("(%s + %d)", d.Dialect.Clock(), d.by.Milliseconds())
}

// migrate makes the tables with defaults by the same clock.
func (d offClock) migrate(ctx context.Context, db *sql.DB) error {
	statements, err := migrations.SQL(d.Dialect, nil)
	if err != nil {
		return err
	}
	whole := d.Dialect.Clock()
	whole = whole[1 : len(whole)-1] // of the parentheses, PostgreSQL's defaults have one pair less
	for _, s := range statements {
		s = strings.ReplaceAll(s, whole, fmt.Sprintf("(%s + %d)", whole, d.by.Milliseconds()))
		if _, err := db.ExecContext(ctx, s); err != nil {
			return fmt.Errorf("%s: %w", s, err)
		}
	}
	return nil
}

// What has to do with time, where the clocks of a process and its database are an hour apart: leases, tries and ages are the
// database's matter alone. So a relay whose clock is right stands as well beside one whose clock is not.
func TestTheClockOfAProcessMayBeAnHourOff(t *testing.T) {
	areas := []string{"clock", "delay", "lease", "claims"}
	names := []string{
		"RetryAfter waits that long, total", "RetryAfter waits that long, per key", "RetryAfter waits that long, none",
		"a failing event is not given up before DeadLetterAfter, per key",
		"the backoff grows, and is in the row, per key",
		"a relay keeps its partitions while a publisher takes its time",
		"a relay whose time ran out hands over nothing more, and goes on as another",
		"a fallen relay goes on as another, and takes its share again",
		"purge deletes what is old enough, and nothing else",
		"dead letters are purged by their own age where that is asked for",
		"a relay purges by itself",
		"lag is told by topic, the longest first",
		"what is due for long is unhealthy, unless outcomes are recorded",
		"purge waits for active readers of the feed, and for no others",
		"a killed worker's claim is taken when its lease is over",
		"a worker whose commit was not heard of records each delivery once",
		"what a killed process ran of what was left goes on after its lease, however long a call may take",
		"only messages of the age that is given are forgotten",
	}
	cases := slices.DeleteFunc(conformance.Cases(), func(c conformance.Case) bool {
		return !slices.Contains(areas, c.Area) && !slices.Contains(names, c.Name)
	})
	for _, name := range names {
		if !slices.ContainsFunc(cases, func(c conformance.Case) bool { return c.Name == name }) {
			t.Errorf("there is no case %q", name)
		}
	}
	t.Parallel()
	engines.EachAtOnce(t, func(t *testing.T, e *engines.Engine) {
		for _, by := range []time.Duration{time.Hour, -time.Hour} {
			t.Run(by.String(), func(t *testing.T) {
				t.Parallel()
				h := harness(e, 0)
				off := offClock{h.Dialect, by}
				h.Dialect, h.Migrate = off, off.migrate
				for _, c := range cases {
					t.Run(c.Name, func(t *testing.T) { c.Run(t, h) })
				}
			})
		}
	})
}
