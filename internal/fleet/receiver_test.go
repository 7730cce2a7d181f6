package fleet

import (
	"encoding/gob"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sqloutbox/sqloutbox/relay"
)

// receipt is one message as it was handed over.
type receipt struct {
	ID, Topic, Key string
	Payload        []byte
	Headers        map[string]string
	Seq            int64
	Attempt        int
	Requeued       bool
	Token          int64
	Relay          string    // who handed it over
	At             time.Time // when it arrived; by the receiver
	Failed         bool      // it is to be handed over again; by the receiver
}

// answer to a receipt; the zero value acknowledges it.
type answer struct {
	Kind answerKind
	Text string
}

type answerKind int

const (
	answerOK answerKind = iota
	answerFailed
	answerPermanent
	answerExit // the publisher is to end its process without another word
)

// receiver is where the relays' events go. It notes each before it answers.
type receiver struct {
	address  string
	reply    func(receipt) answer // nil: acknowledge. Called by many goroutines at once, after the receipt is noted
	fence    fence                // refuse tokens below the highest one seen, and note them in late alone; nil: take all
	listener net.Listener
	serving  sync.WaitGroup
	open     atomic.Int64 // messages that have arrived and are not answered

	mu      sync.Mutex // guards the rest
	all     []receipt  // in the order of arrival
	ids     map[string]int
	late    []receipt
	highest map[string]int64 // tokens, by what the fence says
	links   map[net.Conn]struct{}
	closed  bool
}

// fence names what a receipt's token is compared within.
type fence func(receipt) string

// fenceOf is the fence that goes with an order. A destination that needs the order whatever happens refuses old tokens:
// a relay that was suspended by a busy machine between its look at the deadline and the hand-over would break it otherwise.
func fenceOf(order relay.Order) fence {
	switch order {
	case relay.OrderTotal:
		return func(receipt) string { return "" }
	case relay.OrderPerKey:
		return func(r receipt) string { return r.Key }
	}
	return nil
}

// newReceiver listens. reply may be nil.
func newReceiver(t *testing.T, reply func(receipt) answer) *receiver {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	rc := &receiver{
		address: listener.Addr().String(), reply: reply, listener: listener,
		ids: make(map[string]int), highest: make(map[string]int64), links: make(map[net.Conn]struct{}),
	}
	rc.serving.Go(rc.accept)
	t.Cleanup(rc.close)
	return rc
}

func (rc *receiver) accept() {
	for {
		c, err := rc.listener.Accept()
		if err != nil {
			return
		}
		rc.mu.Lock()
		rc.links[c] = struct{}{}
		if rc.closed {
			_ = c.Close()
		}
		rc.mu.Unlock()
		rc.serving.Go(func() { rc.serve(c) })
	}
}

func (rc *receiver) close() {
	_ = rc.listener.Close()
	rc.mu.Lock()
	rc.closed = true
	for c := range rc.links {
		_ = c.Close()
	}
	rc.mu.Unlock()
	rc.serving.Wait()
}

func (rc *receiver) serve(c net.Conn) {
	defer func() {
		_ = c.Close()
		rc.mu.Lock()
		delete(rc.links, c)
		rc.mu.Unlock()
	}()
	enc, dec := gob.NewEncoder(c), gob.NewDecoder(c)
	for {
		var r receipt
		if dec.Decode(&r) != nil {
			return // killed, perhaps in the middle of it: then it was not received
		}
		rc.open.Add(1)
		err := enc.Encode(rc.receive(r))
		rc.open.Add(-1)
		if err != nil {
			return
		}
	}
}

func (rc *receiver) receive(r receipt) answer {
	r.At = time.Now()
	rc.mu.Lock()
	if rc.fence != nil {
		scope := rc.fence(r)
		if r.Token < rc.highest[scope] {
			rc.late = append(rc.late, r)
			rc.mu.Unlock()
			return answer{Kind: answerFailed, Text: "the token is not the highest seen"}
		}
		rc.highest[scope] = r.Token
	}
	n := len(rc.all)
	rc.all = append(rc.all, r)
	rc.ids[r.ID]++
	rc.mu.Unlock()
	if rc.reply == nil {
		return answer{}
	}
	a := rc.reply(r)
	rc.mu.Lock()
	defer rc.mu.Unlock()
	rc.all[n].Failed = a.Kind == answerFailed
	return a
}

// receipts so far, in the order of arrival.
func (rc *receiver) receipts() []receipt {
	rc.mu.Lock()
	defer rc.mu.Unlock()
	return slices.Clone(rc.all)
}

// unanswered is how many messages wait for their answer.
func (rc *receiver) unanswered() int64 { return rc.open.Load() }

// distinct is how many different events have arrived.
func (rc *receiver) distinct() int {
	rc.mu.Lock()
	defer rc.mu.Unlock()
	return len(rc.ids)
}

func (rc *receiver) count() int {
	rc.mu.Lock()
	defer rc.mu.Unlock()
	return len(rc.all)
}

// times is how often an event has arrived.
func (rc *receiver) times(id string) int {
	rc.mu.Lock()
	defer rc.mu.Unlock()
	return rc.ids[id]
}

// last is the newest receipt; the zero value if there is none.
func (rc *receiver) last() receipt {
	rc.mu.Lock()
	defer rc.mu.Unlock()
	if len(rc.all) == 0 {
		return receipt{}
	}
	return rc.all[len(rc.all)-1]
}

// firsts are the first receipts of each event.
func firsts(all []receipt) []receipt {
	seen := make(map[string]bool)
	var out []receipt
	for _, r := range all {
		if !seen[r.ID] {
			seen[r.ID] = true
			out = append(out, r)
		}
	}
	return out
}

// through are the receipts that are not to be handed over again.
func through(all []receipt) []receipt {
	return slices.DeleteFunc(slices.Clone(all), func(r receipt) bool { return r.Failed })
}

// wantAll fails the test unless exactly the written ids have arrived, each at least once.
func (rc *receiver) wantAll(t *testing.T, written []string) {
	t.Helper()
	rc.mu.Lock()
	defer rc.mu.Unlock()
	lost := 0
	known := make(map[string]bool, len(written))
	for _, id := range written {
		known[id] = true
		if rc.ids[id] == 0 {
			lost++
		}
	}
	if lost > 0 {
		t.Errorf("%d of %d events are lost", lost, len(written))
	}
	for id := range rc.ids {
		if !known[id] {
			t.Errorf("event %s arrived and was never committed", id)
		}
	}
}

// wantInOrder fails the test unless events arrived, and were through, in the order of insertion.
func (rc *receiver) wantInOrder(t *testing.T) {
	t.Helper()
	rc.wantOrderWithin(t, func(receipt) (string, bool) { return "", true })
}

// wantKeysInOrder is wantInOrder within each key.
func (rc *receiver) wantKeysInOrder(t *testing.T) {
	t.Helper()
	rc.wantOrderWithin(t, func(r receipt) (string, bool) { return r.Key, r.Key != "" })
}

// wantOrderWithin looks at the first receipts of events, and at the first that did not fail: what overtakes an event
// that waits for its next try shows only there.
func (rc *receiver) wantOrderWithin(t *testing.T, scopeOf func(receipt) (scope string, ordered bool)) {
	t.Helper()
	all := rc.receipts()
	for what, receipts := range map[string][]receipt{"arrived": firsts(all), "was through": firsts(through(all))} {
		before := make(map[string]receipt)
		for i, r := range receipts {
			scope, ordered := scopeOf(r)
			if b := before[scope]; ordered && r.Seq < b.Seq {
				t.Fatalf("%d: seq %d of key %q (relay %s, token %d) %s after seq %d (relay %s, token %d)",
					i, r.Seq, r.Key, r.Relay, r.Token, what, b.Seq, b.Relay, b.Token)
			}
			before[scope] = r
		}
	}
}

// wantOrder fails the test unless the first receipts are in the order that was asked for.
func (rc *receiver) wantOrder(t *testing.T, order relay.Order) {
	t.Helper()
	switch order {
	case relay.OrderTotal:
		rc.wantInOrder(t)
	case relay.OrderPerKey:
		rc.wantKeysInOrder(t)
	}
}

// doubles is how many receipts were not the first of their event.
func (rc *receiver) doubles() int {
	rc.mu.Lock()
	defer rc.mu.Unlock()
	return len(rc.all) - len(rc.ids)
}
