package conformance

import (
	"context"
	"database/sql"
	"errors"
	"reflect"
	"sync"

	"github.com/sqloutbox/sqloutbox/outbox"
)

func writeRules() []rule {
	return []rule{
		{"the ids are answered in the order of the call", writeIDs},
		{"zero events do nothing", writeNothing},
		{"a transaction that was closed is refused", writeClosed},
		{"a cancelled context writes nothing", writeCancelled},
		{"a thousand events in one call keep their order", writeMany},
		{"what the caller gave is not changed", writeKeepsArgs},
		{"writers of one new key do not hinder each other", writeSameKey},
		{"writers of two keys in opposite order do not deadlock", writeCrossed},
	}
}

func writeIDs(t *env) {
	ids := t.write(outbox.Event{ID: "z", Topic: "t"}, outbox.Event{Topic: "t"}, outbox.Event{ID: "a", Topic: "t"}, outbox.Event{Topic: "t"})
	if len(ids) != 4 || ids[0] != "z" || ids[2] != "a" || ids[1] == "" || ids[3] == "" || ids[1] == ids[3] {
		t.Fatalf("ids %q", ids)
	}
	var got []string
	for _, x := range t.records() {
		got = append(got, x.id)
	}
	equalIDs(t, "the table", got, ids)
}

func writeNothing(t *env) {
	tx := t.begin(t.another())
	ids, err := t.o.Write(t.ctx(), tx)
	if ids != nil || err != nil {
		t.Errorf("got %v, %v", ids, err)
	}
	if err := tx.Commit(); err != nil {
		t.Error(err)
	}
	if n := len(t.records()); n != 0 {
		t.Errorf("%d events", n)
	}
}

func writeClosed(t *env) {
	for name, end := range map[string]func(*sql.Tx) error{"committed": (*sql.Tx).Commit, "rolled back": (*sql.Tx).Rollback} {
		tx := t.begin(t.another())
		if err := end(tx); err != nil {
			t.Fatal(err)
		}
		if _, err := t.o.Write(t.ctx(), tx, events("e", 1)...); !errors.Is(err, outbox.ErrNoTransaction) {
			t.Errorf("%s: got %v, want outbox.ErrNoTransaction", name, err)
		}
	}
	if n := len(t.records()); n != 0 {
		t.Errorf("%d events", n)
	}
}

func writeCancelled(t *env) {
	ctx, cancel := context.WithCancel(t.ctx())
	tx := t.begin(t.another())
	cancel()
	if _, err := t.o.Write(ctx, tx, events("e", 1)...); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want context.Canceled", err)
	}
	// The host's transaction is its own: what it does with it still counts.
	if _, err := t.o.Write(t.ctx(), tx, events("f", 1)...); err != nil {
		t.Errorf("write with another context: %v", err)
	}
	if err := tx.Commit(); err != nil {
		t.Error(err)
	}
	if all := t.records(); len(all) != 1 || all[0].id != "f-0" {
		t.Errorf("events:%s", describe(all))
	}
}

func writeMany(t *env) {
	ids := t.write(events("e", 1000)...)
	var got []string
	for _, x := range t.records() {
		got = append(got, x.id)
	}
	equalIDs(t, "the table", got, ids)
}

func writeKeepsArgs(t *env) {
	make2 := func() []outbox.Event {
		return []outbox.Event{
			{Topic: "t", Payload: []byte{1, 2}, Headers: map[string]string{"a": "b"}},
			{ID: "x", Topic: "t", Key: "k"},
		}
	}
	given := make2()
	t.write(given...)
	if !reflect.DeepEqual(given, make2()) {
		t.Errorf("the events were changed to %+v", given)
	}
}

// together runs n writers at once, each with a pool of its own as a process has, and fails on any error.
func (t *env) together(n int, write func(i int, o *outbox.Outbox) error) {
	t.Helper()
	errs := make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		o := t.outboxOn(t.another(), nil)
		wg.Go(func() { errs[i] = write(i, o) })
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Error(err)
	}
}

// commits has n writers make transactions at once, rounds each, and answers the ids of what was committed. The last of
// every few is rolled back, which leaves gaps in the numbers.
func (t *env) commits(n, rounds, every int, write func(ctx context.Context, o *outbox.Outbox, tx *sql.Tx, writer, round int) ([]string, error)) (committed []string) {
	t.Helper()
	var mu sync.Mutex
	t.together(n, func(writer int, o *outbox.Outbox) error {
		for round := range rounds {
			fails := round%every == every-1
			var ids []string
			err := o.InTx(t.ctx(), func(ctx context.Context, tx *sql.Tx) (err error) {
				if ids, err = write(ctx, o, tx, writer, round); err == nil && fails {
					err = errNo
				}
				return err
			})
			if fails {
				continue
			}
			if err != nil {
				return err
			}
			mu.Lock()
			committed = append(committed, ids...)
			mu.Unlock()
		}
		return nil
	})
	return committed
}

func writeSameKey(t *env) {
	t.together(8, func(i int, o *outbox.Outbox) error {
		_, err := t.tryWrite(o, outbox.Event{Topic: "t", Key: "new"})
		return err
	})
	if n := len(t.records()); n != 8 {
		t.Errorf("%d events, want 8", n)
	}
}

func writeCrossed(t *env) {
	const rounds = 10
	t.together(4, func(i int, o *outbox.Outbox) error {
		pair := []outbox.Event{{Topic: "t", Key: "k1"}, {Topic: "t", Key: "k2"}}
		for range rounds {
			err := o.InTx(t.ctx(), func(ctx context.Context, tx *sql.Tx) error {
				for j := range pair {
					if _, err := o.Write(ctx, tx, pair[(i+j)%2]); err != nil {
						return err
					}
				}
				return nil
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	if n := len(t.records()); n != 4*rounds*2 {
		t.Errorf("%d events, want %d", n, 4*rounds*2)
	}
}
