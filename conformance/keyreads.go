package conformance

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sqloutbox/sqloutbox/internal/hookdb"
	"github.com/sqloutbox/sqloutbox/outbox"
	"github.com/sqloutbox/sqloutbox/relay"
)

const insertPlain = `INSERT INTO {events} (id, topic, event_key, payload) VALUES (?, ?, ?, ?)`

// inTurns is the second of two relays that share the partitions: what it owns and the rows without a partition do not follow
// each other. After each of its looks for events something happens on another connection, if anything is to.
type inTurns struct {
	*env
	receiver
	key string // in one of its partitions

	mu   sync.Mutex // guards what follows
	next func(ctx context.Context) error
}

func (t *env) inTurns(run func(*inTurns)) {
	t.Helper()
	x := &inTurns{env: t}
	first := t.start(t.otherRelay(x, quick(relay.OrderPerKey)))
	t.wantShares(64)
	db := t.hooked(hookdb.Hooks{After: func(query string) error {
		if strings.HasPrefix(query, "SELECT seq, id, topic") {
			x.happen()
		}
		return nil
	}})
	second := t.start(t.relayOn(t.outboxOn(db, nil), x, quick(relay.OrderPerKey)))
	t.wantShares(32, 32)
	for i := 0; x.key == ""; i++ {
		key := fmt.Sprint("k", i)
		name := fmt.Sprintf("key/%02d", outbox.Partition(key))
		if t.number(`SELECT COUNT(*) FROM {leases} WHERE name = ? AND owner <> (SELECT owner FROM {leases} WHERE name = 'key/00')`, name) == 1 {
			x.key = key
		}
	}
	run(x)
	t.eventually("all is published", func() bool { return t.number(`SELECT COUNT(*) FROM {events}`) == 0 })
	t.mustStop(first)
	t.mustStop(second)
}

// happen tries what is to happen, until it has.
func (x *inTurns) happen() {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.next == nil {
		return
	}
	ctx, cancel := context.WithTimeout(x.ctx(), time.Second)
	defer cancel()
	if err := x.next(ctx); err == nil {
		x.next = nil
	}
}

// during has something happen in a turn that begin sets off, or afterwards, where one writer at a time is let in.
func (x *inTurns) during(begin func(), happens func(ctx context.Context) error) {
	x.Helper()
	if !x.oneWriter() {
		x.mu.Lock()
		x.next = happens
		x.mu.Unlock()
	}
	begin()
	if x.oneWriter() {
		if err := happens(x.ctx()); err != nil {
			x.Fatal(err)
		}
	}
	x.eventually("it happens in a turn", func() bool {
		x.mu.Lock()
		defer x.mu.Unlock()
		return x.next == nil
	})
}

// pair writes two events of the key in one transaction, the first as another language would.
func (x *inTurns) pair(ctx context.Context, ids []string) error {
	return x.o.InTx(ctx, func(ctx context.Context, tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, x.sql.SQL(insertPlain), ids[0], "t", x.key, []byte{}); err != nil {
			return err
		}
		_, err := x.o.Write(ctx, tx, outbox.Event{ID: ids[1], Topic: "t", Key: x.key})
		return err
	})
}

func keyCommitsInTurn(t *env) {
	t.inTurns(func(x *inTurns) {
		var want []string
		for i := range 5 {
			name := fmt.Sprint(i)
			pair := []string{"plain " + name, "written " + name}
			x.during(func() { t.write(outbox.Event{ID: "look " + name, Topic: "t", Key: x.key}) }, func(ctx context.Context) error {
				return x.pair(ctx, pair)
			})
			want = append(want, pair...)
			t.eventually("all is handed over", func() bool { return len(x.ofKey(x.key)) == 3*(i+1) })
		}
		got := slices.DeleteFunc(x.ofKey(x.key), func(id string) bool { return strings.HasPrefix(id, "look") })
		equalIDs(t, "handed over", got, want)
	})
}

func keyPlacedInTurn(t *env) {
	t.inTurns(func(x *inTurns) {
		var want []string
		for i := range 5 {
			id := fmt.Sprint("plain ", i)
			x.during(func() { t.exec(insertPlain, id, "t", x.key, []byte{}) }, func(ctx context.Context) error {
				_, err := t.db.ExecContext(ctx, t.sql.SQL(`UPDATE {events} SET partition_no = ? WHERE id = ?`), int64(outbox.Partition(x.key)), id)
				return err
			})
			want = append(want, id)
			t.eventually("it is published", func() bool { return t.number(`SELECT COUNT(*) FROM {events}`) == 0 })
		}
		equalIDs(t, "handed over", x.ofKey(x.key), want)
	})
}

// A look ends when it has read 16 MiB, whatever is behind.
func keyCutAtBytes(t *env) {
	t.inTurns(func(x *inTurns) {
		tx := t.begin(t.db)
		defer tx.Rollback()
		big := make([]byte, outbox.DefaultMaxPayload)
		for i := range 18 {
			if _, err := tx.ExecContext(t.ctx(), t.sql.SQL(insertPlain), fmt.Sprint("big ", i), "t", x.key+" of the big", big); err != nil {
				t.Fatal(err)
			}
		}
		want := []string{"plain", "written"}
		if _, err := tx.ExecContext(t.ctx(), t.sql.SQL(insertPlain), want[0], "t", x.key, []byte{}); err != nil {
			t.Fatal(err)
		}
		if _, err := t.o.Write(t.ctx(), tx, outbox.Event{ID: want[1], Topic: "t", Key: x.key}); err != nil {
			t.Fatal(err)
		}
		if err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
		t.eventually("all is handed over", func() bool { return len(x.ids()) >= 20 })
		equalIDs(t, "handed over", x.ofKey(x.key), want)
	})
}
