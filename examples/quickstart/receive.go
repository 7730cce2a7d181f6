package main

import (
	"io"
	"net/http"
	"sync"
	"time"
)

// delivery is one event as it arrived.
type delivery struct {
	id    string
	relay string
	at    time.Time
}

// receiver is the destination. It notes what arrives, in order, and has no look at the database.
type receiver struct {
	// half is called once, with the sending relay's name, while the answer for the delivery that brings the number of
	// different events to halfAt is still being waited for.
	half   func(relay string)
	halfAt int

	mu         sync.Mutex // guards what follows
	deliveries []delivery
	seen       map[string]bool
}

func newReceiver(halfAt int, half func(relay string)) *receiver {
	return &receiver{half: half, halfAt: halfAt, seen: make(map[string]bool)}
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	// An event counts as received when all of it has come.
	if _, err := io.Copy(io.Discard, req.Body); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	sender := req.Header.Get("X-Relay")
	if r.note(delivery{id: req.Header.Get("X-Event-ID"), relay: sender, at: time.Now()}) {
		r.half(sender)
	}
	w.WriteHeader(http.StatusNoContent)
}

// note keeps a delivery and tells whether it is the one at half-way.
func (r *receiver) note(d delivery) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.deliveries = append(r.deliveries, d)
	if r.seen[d.id] {
		return false
	}
	r.seen[d.id] = true
	return len(r.seen) == r.halfAt
}

// counts are how many different events and how many deliveries have come so far.
func (r *receiver) counts() (different, all int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.seen), len(r.deliveries)
}

func (r *receiver) all() []delivery {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]delivery(nil), r.deliveries...)
}
