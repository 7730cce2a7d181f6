package fleet

import (
	"encoding/gob"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
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
	fenced   bool                 // refuse tokens below the highest one seen, and note them in late alone
	listener net.Listener
	serving  sync.WaitGroup
	open     atomic.Int64 // messages that have arrived and are not answered

	mu      sync.Mutex // guards the rest
	all     []receipt  // in the order of arrival
	ids     map[string]int
	late    []receipt
	highest int64
	links   map[net.Conn]struct{}
	closed  bool
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
		ids: make(map[string]int), links: make(map[net.Conn]struct{}),
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
	if rc.fenced && r.Token < rc.highest {
		rc.late = append(rc.late, r)
		rc.mu.Unlock()
		return answer{Kind: answerFailed, Text: "the token is not the highest seen"}
	}
	rc.highest = max(rc.highest, r.Token)
	rc.all = append(rc.all, r)
	rc.ids[r.ID]++
	rc.mu.Unlock()
	if rc.reply == nil {
		return answer{}
	}
	return rc.reply(r)
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

// wantInOrder fails the test unless the first receipts are in the order of insertion.
func (rc *receiver) wantInOrder(t *testing.T) {
	t.Helper()
	var before receipt
	for i, r := range firsts(rc.receipts()) {
		if r.Seq < before.Seq {
			t.Fatalf("first delivery %d: seq %d (relay %s, token %d) came after seq %d (relay %s, token %d)",
				i, r.Seq, r.Relay, r.Token, before.Seq, before.Relay, before.Token)
		}
		before = r
	}
}

// doubles is how many receipts were not the first of their event.
func (rc *receiver) doubles() int {
	rc.mu.Lock()
	defer rc.mu.Unlock()
	return len(rc.all) - len(rc.ids)
}
