package feedhttp_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// block is a part of a stream, as a client of server-sent events reads it.
type block struct {
	id, event, data, retry string
	comment                bool
}

// follower is a client with a stream.
type follower struct {
	t      *testing.T
	blocks chan block
	err    error // why the stream ended, once blocks is closed
	hangUp func()
	last   string // the id that it would send as Last-Event-ID
	beats  int
}

// follow begins a stream, which must be given.
func (s *site) follow(query string, headers ...string) *follower {
	s.t.Helper()
	f, status := s.tryFollow(query, headers...)
	if f == nil {
		s.t.Fatalf("no stream, but %d", status)
	}
	return f
}

func (s *site) tryFollow(query string, headers ...string) (*follower, int) {
	s.t.Helper()
	ctx, cancel := context.WithCancel(s.t.Context())
	res := s.open(ctx, http.MethodGet, query, append(headers, "Accept", "text/event-stream")...)
	if res.StatusCode != http.StatusOK {
		cancel()
		_ = res.Body.Close()
		return nil, res.StatusCode
	}
	if got := res.Header.Get("Content-Type"); got != "text/event-stream" {
		s.t.Errorf("the stream's type is %q", got)
	}
	f := &follower{t: s.t, blocks: make(chan block), hangUp: cancel}
	go func() {
		defer close(f.blocks)
		defer res.Body.Close()
		f.err = readBlocks(res.Body, func(b block) bool {
			select {
			case f.blocks <- b:
				return true
			case <-ctx.Done():
				return false
			}
		})
	}()
	s.t.Cleanup(cancel)
	return f, res.StatusCode
}

// readBlocks answers nil where the stream ends as it should.
func readBlocks(r io.Reader, take func(block) bool) error {
	in := bufio.NewReaderSize(r, 64<<10)
	var b block
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			if err == io.EOF && line == "" && b == (block{}) {
				return nil
			}
			return io.ErrUnexpectedEOF
		}
		line = strings.TrimSuffix(line, "\n")
		name, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case line == "":
			if !take(b) {
				return context.Canceled
			}
			b = block{}
		case name == "":
			b.comment = true
		case name == "id":
			b.id = value
		case name == "event":
			b.event = value
		case name == "data":
			b.data += value
		case name == "retry":
			b.retry = value
		}
	}
}

// block is the next one; ok is false at the end.
func (f *follower) block() (b block, ok bool) {
	f.t.Helper()
	select {
	case b, ok = <-f.blocks:
	case <-time.After(patience):
		f.t.Fatal("the stream brings nothing")
	}
	if b.id != "" {
		f.last = b.id
	}
	if b.comment {
		f.beats++
	}
	return b, ok
}

// until takes blocks until a condition holds.
func (f *follower) until(what string, is func() bool) {
	f.t.Helper()
	for end := time.Now().Add(patience); !is(); {
		if _, ok := f.block(); !ok || time.Now().After(end) {
			f.t.Fatalf("%s: it did not come to that; %v", what, f.err)
		}
	}
}

// next is the next event, which must be one.
func (f *follower) next() (e cloudEvent) {
	f.t.Helper()
	for {
		b, ok := f.block()
		if !ok {
			f.t.Fatalf("the stream has ended: %v", f.err)
		}
		if b.data == "" {
			continue
		}
		if err := json.Unmarshal([]byte(b.data), &e); err != nil || b.event != "" {
			f.t.Fatalf("%v in %+v", err, b)
		}
		if b.id != e.Cursor {
			f.t.Errorf("id %q, and the cursor is %q", b.id, e.Cursor)
		}
		return e
	}
}

// want takes events in their order.
func (f *follower) want(ids ...string) {
	f.t.Helper()
	for _, id := range ids {
		if e := f.next(); e.ID != id {
			f.t.Fatalf("got %q, want %q", e.ID, id)
		}
	}
}

// wantEnd reads to the end of the stream, and answers the problem that it ends with, if any.
func (f *follower) wantEnd() (p problem) {
	f.t.Helper()
	for {
		b, ok := f.block()
		if !ok {
			return p
		}
		if b.event == "problem" {
			if err := json.Unmarshal([]byte(b.data), &p); err != nil {
				f.t.Fatal(err)
			}
		}
	}
}
