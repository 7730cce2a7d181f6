package conformance

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/sqloutbox/sqloutbox/internal/owners"
	"github.com/sqloutbox/sqloutbox/internal/racing"
	"github.com/sqloutbox/sqloutbox/outbox"
	"github.com/sqloutbox/sqloutbox/relay"
)

func partitionRules() []rule {
	return []rule{
		{"relays share the partitions evenly, however many come and go", sharesEven},
		{"a relay that stops hands its partitions over at once", sharesHandOver},
		{"the partitions of a fallen relay are taken, and its late outcome is refused", sharesFallen},
		{"a fallen relay goes on as another, and takes its share again", sharesAgain},
		{"a relay keeps its partitions while a publisher takes its time", sharesRenewed},
		{"a relay whose time ran out hands over nothing more, and goes on as another", sharesNoRenewal},
		{"a partition whose owner is unknown is taken", sharesUnknown},
		{"a partition's token grows with every owner, and messages carry it", sharesTokens},
		{"a partition is not given away while an event of it is in hand", sharesInHand},
		{"relays that come and go never hand over two events of a key at once", sharesRandom},
	}
}

// shares are how many partitions each owner has, ascending; "" is an owner too.
func (t *env) shares() (list []int) {
	t.Helper()
	rows, err := t.db.QueryContext(t.ctx(), t.sql.SQL(`SELECT owner, COUNT(*) FROM {leases} WHERE name LIKE 'key/%' GROUP BY owner`))
	if err != nil {
		t.Fatalf("read the shares: %v", err)
	}
	defer rows.Close()
	for rows.Next() {
		var owner string
		var n int
		if err := rows.Scan(&owner, &n); err != nil {
			t.Fatalf("read the shares: %v", err)
		}
		list = append(list, n)
	}
	if err := rows.Err(); err != nil {
		t.Fatalf("read the shares: %v", err)
	}
	slices.Sort(list)
	return list
}

func (t *env) wantShares(want ...int) {
	t.Helper()
	t.eventually(fmt.Sprintf("the shares are %v", want), func() bool {
		return slices.Equal(t.shares(), want) && t.number(`SELECT COUNT(*) FROM {leases} WHERE name LIKE 'key/%' AND owner = ''`) == 0
	})
}

func sharesEven(t *env) {
	p := &receiver{}
	var stops []func() error
	join := func() { stops = append(stops, t.start(t.otherRelay(p, quick(relay.OrderPerKey)))) }
	leave := func(i int) {
		t.mustStop(stops[i])
		stops = slices.Delete(stops, i, i+1)
	}
	join()
	t.wantShares(64)
	join()
	t.wantShares(32, 32)
	join()
	t.wantShares(21, 21, 22)
	join()
	t.wantShares(16, 16, 16, 16)
	leave(0)
	t.wantShares(21, 21, 22)
	leave(1)
	t.wantShares(32, 32)
	ids := t.write(manyKeys("k", 100)...)
	t.eventually("all is handed over", func() bool { return len(p.ids()) == len(ids) })
	leave(0)
	leave(0)
	if n := t.number(`SELECT COUNT(*) FROM {leases} WHERE owner <> ''`); n != 0 {
		t.Errorf("%d leases are owned, and no relay runs", n)
	}
	sameIDs(t, "handed over", p.ids(), ids)
}

// manyKeys makes n events, each of another key.
func manyKeys(prefix string, n int) []outbox.Event {
	list := events(prefix, n)
	for i := range list {
		list[i].Key = list[i].ID
	}
	return list
}

func sharesHandOver(t *env) {
	first, second := &receiver{}, &receiver{}
	stop := t.start(t.otherRelay(first, quick(relay.OrderPerKey))) // a lease of 30 s
	stop2 := t.start(t.otherRelay(second, quick(relay.OrderPerKey)))
	t.wantShares(32, 32)
	t.mustStop(stop)
	began := time.Now()
	ids := t.write(manyKeys("k", 40)...)
	t.eventually("the second hands over all", func() bool { return len(second.ids()) == len(ids) })
	if waited := time.Since(began); waited > 25*time.Second {
		t.Errorf("it took %v to hand over", waited)
	}
	t.mustStop(stop2)
}

// The owner is paused in the middle of a hand-over for longer than its lease, and wakes up when another has published
// what it had in hand.
func sharesFallen(t *env) {
	for name, answer := range map[string]error{"published": nil, "failed": inAnHour, "dead": permanent} {
		ids := t.write(keyed(name, 3)...)
		g, second := newGate(), &receiver{}
		g.answer = func(context.Context, relay.Message) error { return answer }
		a, b := t.otherRelay(g, quick(relay.OrderPerKey)), t.otherRelay(second, quick(relay.OrderPerKey))
		done := t.pass(a)
		first := await(t, "the first relay hands over", g.entered)
		t.fell(relay.OrderPerKey)
		t.drain(b)
		close(g.open)
		if err := await(t, "the late owner is done", done); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if a.Refused() == 0 {
			t.Errorf("%s: the late owner's outcome was not counted as refused", name)
		}
		if all := t.records(); len(all) != 0 {
			t.Errorf("%s: the late owner changed something:%s", name, describe(all))
		}
		ids = append(ids, t.write(outbox.Event{ID: name + " after", Topic: "t", Key: name})...)
		t.drain(b)
		equalIDs(t, name+": the new owner handed over", second.ids(), ids)
		for _, m := range second.messages() {
			if m.Token <= first.Token {
				t.Errorf("%s: event %s was handed over under token %d, after %d", name, m.ID, m.Token, first.Token)
			}
		}
	}
}

func sharesAgain(t *env) {
	p := &receiver{}
	opts := quick(relay.OrderPerKey)
	opts.Lease = racing.Slow * 900 * time.Millisecond // with the next sign of life it finds out
	stop := t.start(t.otherRelay(p, opts))
	t.wantShares(64)
	id := t.living()[0].ID
	t.fell(relay.OrderPerKey)
	t.eventually("it lives again, as another", func() bool { all := t.living(); return len(all) == 1 && all[0].ID != id })
	t.wantShares(64)
	ids := t.write(manyKeys("k", 10)...)
	t.eventually("it works", func() bool { return len(p.ids()) == len(ids) })
	t.mustStop(stop)
}

func sharesRenewed(t *env) {
	t.write(keyed("k", 1)...)
	g, second := newGate(), &receiver{}
	opts := quick(relay.OrderPerKey)
	opts.Lease = racing.Slow * 900 * time.Millisecond
	a := t.otherRelay(g, opts)
	done := t.pass(a)
	await(t, "it hands over", g.entered)
	until := t.number(`SELECT until_ms FROM {relays}`)
	t.eventually("its time would have run out", func() bool { return t.number(readClock) > until })
	t.once(t.otherRelay(second, quick(relay.OrderPerKey)))
	equalIDs(t, "another handed over meanwhile", second.ids(), nil)
	close(g.open)
	if err := await(t, "it is done", done); err != nil {
		t.Errorf("its outcome was not recorded: %v", err)
	}
	if all := t.records(); len(all) != 0 || a.Refused() != 0 {
		t.Errorf("%d refused, left:%s", a.Refused(), describe(all))
	}
}

func sharesNoRenewal(t *env) { noRenewal(t, relay.OrderPerKey) }

// Only a hand that deletes rows leaves such a thing behind.
func sharesUnknown(t *env) {
	p := &receiver{}
	t.drain(t.otherRelay(p, quick(relay.OrderPerKey)))
	t.exec(`UPDATE {leases} SET owner = 'nobody', token = token + 1 WHERE name LIKE 'key/%'`)
	ids := t.write(manyKeys("k", 10)...)
	t.drain(t.otherRelay(p, quick(relay.OrderPerKey)))
	sameIDs(t, "handed over", p.ids(), ids)
}

func sharesTokens(t *env) {
	last := int64(0)
	lease := owners.PartitionName(int64(outbox.Partition("k")))
	for i := range 3 {
		t.write(outbox.Event{Topic: "t", Key: "k"}, outbox.Event{Topic: "t", Key: "k"})
		p := &receiver{}
		t.drain(t.otherRelay(p, quick(relay.OrderPerKey)))
		token := p.messages()[0].Token
		if token <= last || p.messages()[1].Token != token {
			t.Errorf("owner %d hands over under tokens %d and %d, after %d", i, token, p.messages()[1].Token, last)
		}
		last = token
	}
	if token := t.number(`SELECT token FROM {leases} WHERE name = ?`, lease); token != last {
		t.Errorf("the partition's token is %d, want %d", token, last)
	}
}

// Eight hand-overs are under way while another relay comes.
func sharesInHand(t *env) {
	const n = 8
	list := manyKeys("k", 200)
	seen := map[int]bool{}
	list = slices.DeleteFunc(list, func(e outbox.Event) bool { // a partition each, from all over them
		p := outbox.Partition(e.Key) / 8
		again := seen[p]
		seen[p] = true
		return again
	})
	if len(list) != n {
		t.Fatalf("%d keys, want %d", len(list), n)
	}
	ids := t.write(list...)
	g, second := newGate(), &receiver{}
	opts := quick(relay.OrderPerKey)
	opts.Concurrency = n
	stop := t.start(t.otherRelay(g, opts))
	tokens := map[string]int64{}
	for range n {
		m := await(t, "eight are in hand", g.entered)
		tokens[owners.PartitionName(partitionOf(m))] = m.Token
	}
	stop2 := t.start(t.otherRelay(second, quick(relay.OrderPerKey)))
	// What is not in hand is given away meanwhile: 32 partitions, less those in hand of them.
	t.eventually("the second has got what can be given", func() bool {
		return len(t.living()) == 2 && slices.Max(t.shares()) <= 32+n && t.number(`SELECT COUNT(DISTINCT owner) FROM {leases} WHERE name LIKE 'key/%' AND owner <> ''`) == 2
	})
	var behind []outbox.Event
	for _, e := range list {
		behind = append(behind, outbox.Event{ID: "behind " + e.ID, Topic: "t", Key: e.Key})
	}
	ids = append(ids, t.write(behind...)...)
	passes(t, 100*time.Millisecond)
	for name, token := range tokens {
		if now := t.number(`SELECT token FROM {leases} WHERE name = ?`, name); now != token {
			t.Errorf("%s was given away while an event of it was in hand", name)
		}
	}
	if got := second.ids(); len(got) != 0 {
		t.Errorf("%q were handed over by another meanwhile", got)
	}
	close(g.open)
	t.wantShares(32, 32)
	t.eventually("all is handed over", func() bool { return len(g.ids())+len(second.ids()) == len(ids) })
	t.mustStop(stop)
	t.mustStop(stop2)
	sameIDs(t, "handed over", append(g.ids(), second.ids()...), ids)
}

func sharesRandom(t *env) {
	o := newOneByOne(t)
	p := &receiver{answer: func(_ context.Context, m relay.Message) error {
		defer o.enter(m)()
		time.Sleep(rand.N(time.Millisecond))
		return nil
	}}
	relays := make([]*relay.Relay, 3)
	stops := make([]func() error, len(relays))
	for i := range relays {
		opts := quick(relay.OrderPerKey)
		opts.Batch = 7
		relays[i] = t.otherRelay(p, opts)
	}
	want := map[string][]string{}
	all := 0
	for range 40 {
		var list []outbox.Event
		for range 12 {
			all++
			key := fmt.Sprintf("k%d", rand.IntN(9))
			id := fmt.Sprintf("e%d", all)
			list = append(list, outbox.Event{ID: id, Topic: "t", Key: key})
			want[key] = append(want[key], id)
		}
		t.write(list...)
		i := rand.IntN(len(relays))
		if stops[i] == nil {
			stops[i] = t.start(relays[i])
		} else if rand.IntN(2) == 0 {
			t.mustStop(stops[i])
			stops[i] = nil
		}
		passes(t, rand.N(10*time.Millisecond))
	}
	for i := range stops {
		if stops[i] == nil {
			stops[i] = t.start(relays[i])
		}
	}
	t.eventually("all is handed over", func() bool { return len(p.ids()) >= all })
	for i, stop := range stops {
		t.mustStop(stop)
		if relays[i].Refused() != 0 {
			t.Errorf("%d outcomes were refused, and no relay has fallen", relays[i].Refused())
		}
	}
	for key, ids := range want {
		equalIDs(t, key, p.ofKey(key), ids)
	}
}
