package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"

	"github.com/sqloutbox/sqloutbox/relay/webhook"
)

// subscriber is somebody else's service. It handles each event once, though one may arrive more often.
type subscriber struct {
	server *httptest.Server

	mu     sync.Mutex // guards what is below
	secret webhook.Secret
	down   int             // requests that it can't serve yet
	seen   map[string]bool // by Webhook-Id; with a database: outbox.Inbox, in the transaction that handles it
	got    []string
	failed int
}

func newSubscriber(down int) *subscriber {
	s := &subscriber{down: down, seen: make(map[string]bool)}
	s.server = httptest.NewServer(s)
	return s
}

func (s *subscriber) trust(secret webhook.Secret) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.secret = secret
}

func (s *subscriber) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
	if err != nil {
		http.Error(w, "unreadable", http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	id, err := webhook.Verify(r.Header, body, s.secret)
	switch {
	case err != nil:
		http.Error(w, "who are you?", http.StatusUnauthorized)
	case s.down > 0:
		s.down--
		s.failed++
		http.Error(w, "not now", http.StatusServiceUnavailable) // it will come again
	case !s.seen[id]:
		s.seen[id] = true
		s.got = append(s.got, string(body))
	}
}

// String is what it has handled.
func (s *subscriber) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	text := fmt.Sprintf("%d events", len(s.got))
	if s.failed > 0 {
		text += fmt.Sprintf(" after %d failed request: %s", s.failed, strings.Join(s.got, " "))
	}
	return text
}
