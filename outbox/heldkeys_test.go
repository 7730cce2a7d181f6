package outbox_test

import (
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/sqloutbox/sqloutbox/outbox"
)

func (b *box) heldKeys(q outbox.HeldKeyQuery) []outbox.HeldKey {
	b.Helper()
	keys, err := b.HeldKeys(b.Context(), q)
	if err != nil {
		b.Fatal(err)
	}
	return keys
}

func TestHeldKeysNameTheEventThatHoldsEach(t *testing.T) {
	eachBox(t, func(t *testing.T, b *box) {
		b.db.SetMaxOpenConns(1)
		if got := b.heldKeys(outbox.HeldKeyQuery{}); len(got) != 0 {
			t.Errorf("of an empty outbox: %+v", got)
		}
		b.put(
			event{seq: 1, key: "fails", state: waiting, due: time.Hour, attempts: 3, lastError: "no route"},
			event{seq: 2, key: "fails", state: waiting, due: 2 * time.Hour},
			event{seq: 3, key: "fails", state: held, group: 1},
			event{seq: 4, key: "gave up", state: dead, attempts: 11, lastError: "no"},
			event{seq: 5, key: "stands", topic: "slow", state: paused},
			event{seq: 6, key: "runs", state: pending},
			event{seq: 7, key: "next", state: pending},
			event{seq: 8, key: "again", state: waiting, due: -time.Second},
			event{seq: 9, key: "changed", state: pending, due: time.Hour}, // another order left it so
			event{seq: 10, key: "through", state: published},
			event{seq: 13, key: "FAILS", state: held, group: 1 << 62},
		)
		for seq, key := range map[int64]string{1: "fails", 2: "fails", 4: "gave up", 5: "stands", 6: "runs", 7: "next", 8: "again", 9: "changed", 10: "through", 12: "deleted", 13: "FAILS"} {
			b.hold(seq, key, time.Hour)
		}
		b.live("r", "per_key", `{"batch":"5-6"}`, 0)
		b.live("killed", "per_key", `{"batch":"7"}`, -time.Minute)
		want := []outbox.HeldKey{
			{Seq: 1, Key: "fails", Topic: "t", State: outbox.HoldWaiting, Attempts: 3, LastError: "no route"},
			{Seq: 4, Key: "gave up", Topic: "t", State: outbox.HoldDead, Attempts: 11, LastError: "no"},
			{Seq: 5, Key: "stands", Topic: "slow", State: outbox.HoldPaused},
			{Seq: 6, Key: "runs", Topic: "t", State: outbox.HoldInHand},
			{Seq: 7, Key: "next", Topic: "t", State: outbox.HoldDue},
			{Seq: 8, Key: "again", Topic: "t", State: outbox.HoldDue},
			{Seq: 9, Key: "changed", Topic: "t", State: outbox.HoldWaiting},
			{Seq: 10, Key: "through", Topic: "t", State: outbox.HoldOver},
			{Seq: 12, Key: "deleted", State: outbox.HoldOver},
			{Seq: 13, Key: "FAILS", Topic: "t", State: outbox.HoldDue},
		}
		got := b.heldKeys(outbox.HeldKeyQuery{})
		for i, k := range got {
			if !about(time.Since(k.Since), time.Hour-time.Second) {
				t.Errorf("%q: since %v", k.Key, k.Since)
			}
			if next := time.Until(k.NextTry); (k.State == outbox.HoldWaiting) != about(next, 59*time.Minute+time.Second) {
				t.Errorf("%q is %s, and its next try is in %v", k.Key, k.State, next)
			}
			if wantID := eventID(k.Seq); k.ID != wantID && k.Seq != 12 {
				t.Errorf("%q: id %q, want %q", k.Key, k.ID, wantID)
			}
			got[i].ID, got[i].Since, got[i].NextTry = "", time.Time{}, time.Time{}
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("got  %+v\nwant %+v", got, want)
		}

		var pages []string
		for after := int64(0); ; {
			page := b.heldKeys(outbox.HeldKeyQuery{After: after, Limit: 3})
			for _, k := range page {
				pages = append(pages, k.Key)
				after = k.Seq
			}
			if len(page) < 3 {
				break
			}
		}
		if len(pages) != len(want) || pages[3] != "runs" || pages[9] != "FAILS" {
			t.Errorf("by pages: %q", pages)
		}
		if got := b.heldKeys(outbox.HeldKeyQuery{Key: "gave up"}); len(got) != 1 || got[0].Seq != 4 {
			t.Errorf("of one key: %+v", got)
		}
		if got := b.heldKeys(outbox.HeldKeyQuery{Key: "flows"}); len(got) != 0 {
			t.Errorf("of a key that flows: %+v", got)
		}
	})
}

func TestHeldKeysRefuseABadQuery(t *testing.T) {
	eachBox(t, func(t *testing.T, b *box) {
		for _, q := range []outbox.HeldKeyQuery{{Limit: -1}, {Limit: 1001}, {Key: "\xff"}} {
			if _, err := b.HeldKeys(t.Context(), q); !errors.Is(err, outbox.ErrInvalidOptions) {
				t.Errorf("%+v: %v", q, err)
			}
		}
	})
}
