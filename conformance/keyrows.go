package conformance

import (
	"fmt"
	"slices"
	"time"

	"github.com/sqloutbox/sqloutbox/outbox"
	"github.com/sqloutbox/sqloutbox/relay"
)

func keyLate(t *env) {
	p := &receiver{}
	r := t.otherRelay(p, quick(relay.OrderPerKey))
	commit := writeLate(t, "found")
	want := []string{"late found", "early found"}
	if commit != nil {
		t.drain(r)
		commit()
		slices.Reverse(want)
	}
	t.drain(r)
	equalIDs(t, "handed over", p.ids(), want)
}

func keyLateBeforeFailed(t *env) {
	f := fail(inAnHour, "early failed")
	p := &receiver{answer: f.answer}
	r := t.otherRelay(p, quick(relay.OrderPerKey))
	commit := writeLate(t, "failed")
	want := []string{"late failed", "early failed"}
	if commit != nil {
		t.drain(r)
		commit()
		slices.Reverse(want)
	}
	t.write(outbox.Event{ID: "last", Topic: "t", Key: "failed"})
	t.drain(r)
	equalIDs(t, "handed over", p.ids(), want)
	f.set("early failed", nil)
	t.makeDue()
	t.drain(r)
	equalIDs(t, "handed over", p.ids(), append(want, "early failed", "last"))
}

func keyPartitions(t *env) {
	var want []string
	wrong := []int64{-1, 99, -7, int64(outbox.Partition("another key")), 1 << 40, 64, 0}
	for i := range 3 {
		for j, partition := range wrong {
			id := fmt.Sprintf("plain-%d-%d", i, j)
			t.exec(insertPart, id, "t", "k", []byte{}, partition)
			want = append(want, id)
			want = append(want, t.write(outbox.Event{ID: "written " + id, Topic: "t", Key: "k"})...)
		}
		t.exec(insertPlain, fmt.Sprint("default-", i), "t", "k", []byte{})
		want = append(want, fmt.Sprint("default-", i))
	}
	p := &receiver{}
	t.drain(t.otherRelay(p, quick(relay.OrderPerKey)))
	equalIDs(t, "handed over", p.ids(), want)
}

func keyMisfit(t *env) {
	p := &receiver{}
	opts := quick(relay.OrderPerKey)
	opts.PurgeEvery = 20 * time.Millisecond // as often it looks for such rows
	stop := t.start(t.otherRelay(p, opts))
	t.write(outbox.Event{ID: "first", Topic: "t", Key: "k"})
	t.eventually("it works", func() bool { return len(p.ids()) == 1 })
	for i, partition := range []int64{-1, 99, -7, int64(outbox.Partition("another key"))} {
		t.exec(insertPart, fmt.Sprint(partition), "t", "k", []byte{}, partition)
		t.eventually("it is handed over", func() bool { return len(p.ids()) == i+2 })
	}
	t.mustStop(stop)
}
