package fleet

import (
	"context"
	"database/sql"
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"sort"
	"strconv"
	"sync"
	"testing"

	"github.com/sqloutbox/sqloutbox/outbox"
)

// keyLoad is a host with aggregates of very uneven size. The writers of one take turns, by a row lock or by comparing
// its version, and only then write the event, whose payload is the number of the change.
type keyLoad struct {
	d    *database
	keys []string
	upTo []int // of the sum of weights: a key is drawn as often as it is heavy

	mu  sync.Mutex // guards ids
	ids []string   // committed
}

// newKeyLoad makes n aggregates: the keys of real events with their real weights, and then a Zipf distribution's.
func newKeyLoad(t *testing.T, d *database, n int) *keyLoad {
	t.Helper()
	weights := make(map[string]int)
	for _, e := range githubEvents(t) {
		if e.Key != "" {
			weights[e.Key]++
		}
	}
	heaviest := slices.Max(slices.Collect(maps.Values(weights)))
	for rank := len(weights) + 1; len(weights) < n; rank++ {
		weights[key(rank)] = max(1, heaviest/rank)
	}
	d.exec(t, "CREATE TABLE aggregates (name VARCHAR(255) PRIMARY KEY, counter BIGINT NOT NULL)")
	l := &keyLoad{d: d}
	sum := 0
	for name, weight := range weights {
		d.exec(t, "INSERT INTO aggregates (name, counter) VALUES (?, 0)", name)
		sum += weight
		l.keys, l.upTo = append(l.keys, name), append(l.upTo, sum)
	}
	return l
}

func (l *keyLoad) draw() string {
	return l.keys[sort.SearchInts(l.upTo, 1+rand.IntN(l.upTo[len(l.upTo)-1]))]
}

// run has so many writers change aggregates until ctx ends, and answers the ids of all that was committed.
func (l *keyLoad) run(t *testing.T, ctx context.Context, writers int) []string {
	t.Helper()
	var writing sync.WaitGroup
	for range writers {
		writing.Go(func() {
			for ctx.Err() == nil {
				err := l.change(context.WithoutCancel(ctx), l.draw())
				if err != nil && !errors.Is(err, errRolledBack) && !errors.Is(err, errOvertaken) {
					t.Error(err)
					return
				}
			}
		})
	}
	writing.Wait()
	return l.ids
}

// errOvertaken: another writer has changed the aggregate since it was read.
var errOvertaken = errors.New("the version has changed")

// change is one business transaction of a few changes; now and then it rolls back.
func (l *keyLoad) change(ctx context.Context, name string) error {
	var ids []string
	err := l.d.InTx(ctx, func(ctx context.Context, tx *sql.Tx) error {
		events := make([]outbox.Event, 1+rand.IntN(5))
		before, err := l.countUp(ctx, tx, name, len(events))
		if err != nil {
			return err
		}
		for i := range events {
			events[i] = outbox.Event{Topic: "changed", Key: name, Payload: []byte(strconv.Itoa(before + 1 + i))}
		}
		ids, err = l.d.Write(ctx, tx, events...)
		if err == nil && rand.IntN(20) == 0 {
			err = errRolledBack
		}
		return err
	})
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ids = append(l.ids, ids...)
	return nil
}

// countUp changes an aggregate's row, which is the transaction's own from then on, and answers what it said before.
func (l *keyLoad) countUp(ctx context.Context, tx *sql.Tx, name string, by int) (n int, err error) {
	read := "SELECT counter FROM aggregates WHERE name = ?"
	if rand.IntN(2) == 0 {
		read += l.d.Dialect().Lock()
	}
	bind := l.d.Dialect().Bind
	if err := tx.QueryRowContext(ctx, bind(read), name).Scan(&n); err != nil {
		return 0, err
	}
	res, err := tx.ExecContext(ctx, bind("UPDATE aggregates SET counter = counter + ? WHERE name = ? AND counter = ?"), by, name, n)
	if err != nil {
		return 0, err
	}
	if changed, err := res.RowsAffected(); err != nil || changed == 0 {
		return 0, errors.Join(err, errOvertaken)
	}
	return n, nil
}

// wantCounted fails the test unless what was through first of each key counts its changes without a gap, to the last.
func (l *keyLoad) wantCounted(t *testing.T, all []receipt) {
	t.Helper()
	counted := make(map[string]int)
	for _, r := range firsts(through(all)) {
		n, err := strconv.Atoi(string(r.Payload))
		if err != nil {
			t.Fatal(err)
		}
		if n != counted[r.Key]+1 {
			t.Fatalf("key %s: change %d (seq %d, relay %s, attempt %d) arrived after change %d",
				r.Key, n, r.Seq, r.Relay, r.Attempt, counted[r.Key])
		}
		counted[r.Key] = n
	}
	for _, name := range l.keys {
		var n int
		row := l.d.DB().QueryRowContext(t.Context(), l.d.Dialect().Bind("SELECT counter FROM aggregates WHERE name = ?"), name)
		if err := row.Scan(&n); err != nil {
			t.Fatal(err)
		}
		if n != counted[name] {
			t.Errorf("key %s: %d changes have arrived of %d", name, counted[name], n)
		}
	}
}
