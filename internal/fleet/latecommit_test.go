package fleet

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/sqloutbox/sqloutbox/outbox"
	"github.com/sqloutbox/sqloutbox/relay"
)

// noted is a publisher in the test's own process.
type noted struct {
	mu  sync.Mutex // guards got
	got []relay.Message
}

func (n *noted) Publish(_ context.Context, m relay.Message) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.got = append(n.got, m)
	return nil
}

func (n *noted) ids() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	ids := make([]string, len(n.got))
	for i, m := range n.got {
		ids[i] = m.ID
	}
	slices.Sort(ids)
	return ids
}

// Sequence numbers are handed out at the insert, so a lower one may commit after a higher one was published. Of eight
// transactions that are open at once some commit, the relay runs dry, and then the others do.
func TestAnEventThatCommitsLateIsPublishedOnce(t *testing.T) {
	t.Parallel()
	const rounds, writers = 200, 8
	eachEngine(t, func(t *testing.T, d *database) {
		if d.engine == "sqlite" {
			// There is one writer at a time: TestOnSQLiteTheSecondWriterWaits. What is left of the rule is that
			// writers and a relay that all want to write are served.
			writersBesideARelay(t, d, rounds, writers)
			return
		}
		p := new(noted)
		var relays []*relay.Relay
		for _, order := range orders() {
			r, err := relay.New(d.Outbox, p, &relay.Options{Order: order})
			if err != nil {
				t.Fatal(err)
			}
			relays = append(relays, r)
		}
		rnd := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 1))
		var want []string
		for round := range rounds {
			r := relays[round%len(relays)]
			open := d.openWriters(t, rnd, round, writers)
			for late := range 2 {
				for _, w := range open[late*writers/2 : (late+1)*writers/2] {
					if w.rollBack {
						if err := w.tx.Rollback(); err != nil {
							t.Fatal(err)
						}
						continue
					}
					if err := w.tx.Commit(); err != nil {
						t.Fatal(err)
					}
					want = append(want, w.id)
				}
				if _, err := r.Drain(t.Context()); err != nil {
					t.Fatal(err)
				}
				slices.Sort(want)
				if got := p.ids(); !slices.Equal(got, want) {
					t.Fatalf("round %d (late: %d): %d published, %d committed", round, late, len(got), len(want))
				}
			}
		}
	})
}

type writer struct {
	id       string
	tx       *sql.Tx
	rollBack bool
}

// openWriters has so many transactions open at once, each with one event written, and answers them in random order.
func (d *database) openWriters(t *testing.T, rnd *rand.Rand, round, n int) []writer {
	t.Helper()
	all := make([]writer, n)
	for i := range all {
		tx, err := d.DB().BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		id := fmt.Sprintf("%d-%d", round, i)
		if _, err := d.Write(t.Context(), tx, outbox.Event{ID: id, Topic: "t", Key: fmt.Sprint(i)}); err != nil {
			t.Fatal(err)
		}
		all[i] = writer{id: id, tx: tx, rollBack: rnd.IntN(8) == 0}
	}
	rnd.Shuffle(n, func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all
}

// writersBesideARelay has all writers write at once while a relay works.
func writersBesideARelay(t *testing.T, d *database, rounds, writers int) {
	for _, order := range orders() {
		p := new(noted)
		r, err := relay.New(d.Outbox, p, &relay.Options{Order: order, Poll: 10 * time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		stop := runRelay(t, r)
		var writing sync.WaitGroup
		for w := range writers {
			writing.Go(func() {
				for round := range rounds / 2 {
					err := d.InTx(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
						_, err := d.Write(ctx, tx, outbox.Event{ID: fmt.Sprintf("%v-%d-%d", order, w, round), Topic: "t"})
						return err
					})
					if err != nil {
						t.Errorf("writer %d: %v", w, err)
						return
					}
				}
			})
		}
		writing.Wait()
		d.awaitSettled(t, 20*time.Second)
		stop()
		got := p.ids()
		if n := len(slices.Compact(slices.Clone(got))); n != writers*rounds/2 || n != len(got) {
			t.Errorf("%v: %d different events published, %d in all, want %d", order, n, len(got), writers*rounds/2)
		}
	}
}

// runRelay runs a relay in this process until stop is called, which fails the test if Run did.
func runRelay(t *testing.T, r *relay.Relay) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- r.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		select {
		case err := <-ended:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(patience * 30 * time.Second):
			t.Error("Run does not end")
		}
	})
	t.Cleanup(stop)
	return stop
}
