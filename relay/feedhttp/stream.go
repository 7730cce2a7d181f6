package feedhttp

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/sqloutbox/sqloutbox/outbox"
)

// stride is how many events a stream may pass by before it tells its client where it is: about a look of Feed.Read.
const stride = 1000

// stream is one client that follows the feed.
type stream struct {
	h         *Handler
	ctx       context.Context
	out       *writer
	topics    []string
	at        outbox.Cursor // behind all that was looked at
	told      outbox.Cursor // that the client knows of
	heartbeat *time.Ticker
	age       <-chan time.Time
	silent    bool // about a database that is away
}

func (h *Handler) stream(w http.ResponseWriter, r *http.Request, q query) {
	select {
	case <-h.ended:
		h.later(w, r, newProblem(http.StatusServiceUnavailable, "ending", "This server is going away. Try again."))
		return
	default:
	}
	select {
	case h.streams <- struct{}{}:
		defer func() { <-h.streams }()
	default:
		h.later(w, r, newProblem(http.StatusServiceUnavailable, "streams", "There are as many streams as there may be. Try again later, or read pages."))
		return
	}
	out, err := newWriter(w, h.opts.WriteTimeout)
	if err != nil { // a client that is dead would hold its place for good
		h.fail(w, r, fmt.Errorf("a stream needs write deadlines; let the middleware's ResponseWriter have Unwrap: %w", err))
		return
	}
	events, at, next, err := h.first(r.Context(), q)
	if err != nil {
		h.later(w, r, h.found(r, err))
		return
	}
	streamHeaders(w)
	holdLittle(r)
	if r.Method == http.MethodHead {
		return
	}
	defer out.finish()
	s := &stream{h: h, ctx: r.Context(), out: out, topics: q.topics, at: at, told: at}
	s.run(events, next)
}

func streamHeaders(w http.ResponseWriter) {
	head := w.Header()
	head.Set("Content-Type", string(formatStream))
	head.Set("Cache-Control", "no-store, no-transform") // a proxy that compresses would hold events back
	head.Set("X-Accel-Buffering", "no")                 // nginx would, too
}

// later answers a problem in place of a stream. What trying again can mend is a stream of status 200 that says so and ends:
// a browser's EventSource comes back after a stream's end, and after any other status never again (WHATWG HTML, 9.2.3).
func (h *Handler) later(w http.ResponseWriter, r *http.Request, p *problem) {
	if p.Status != http.StatusServiceUnavailable {
		h.answer(w, r, p)
		return
	}
	streamHeaders(w)
	if r.Method == http.MethodHead {
		return
	}
	out, _ := newWriter(w, h.opts.WriteTimeout)
	defer out.finish()
	s := &stream{out: out}
	s.writeRetry(retryAfter*time.Second + rand.N(3*time.Second))
	s.writeProblem(p)
}

// run sends the first page and all that follow, until the client, the server, the feed or MaxAge ends it.
func (s *stream) run(events []outbox.FeedEvent, next outbox.Cursor) {
	s.heartbeat = time.NewTicker(s.h.opts.Heartbeat)
	defer s.heartbeat.Stop()
	age := time.NewTimer(s.h.opts.MaxAge)
	defer age.Stop()
	s.age = age.C

	// Spread, so that the clients of a server that restarts don't come back all at once. The position makes one that is
	// cut off before its first event come back to where it began.
	s.writeRetry(time.Second + rand.N(2*time.Second))
	s.writePosition(s.at)
	err := s.write(events, next)
	for err == nil && !s.over() {
		if events, next, err = s.next(); err != nil {
			s.fail(err)
			return
		}
		err = s.write(events, next)
	}
	if errors.Is(err, http.ErrNotSupported) { // what was written may be held back for ever
		s.h.opts.Logger.Error("feed: a stream needs a ResponseWriter that flushes; let the middleware's have Unwrap", "err", err)
	}
}

// over reports whether the stream has been ended.
func (s *stream) over() bool {
	select {
	case <-s.ctx.Done():
	case <-s.h.ended:
	case <-s.age:
	default:
		return false
	}
	return true
}

// next answers the next page that moves on, or errOver.
func (s *stream) next() ([]outbox.FeedEvent, outbox.Cursor, error) {
	for {
		news := s.h.feed.News() // before the look, so that nothing comes between
		events, next, err := s.h.read(s.ctx, s.at, 0, s.topics)
		switch {
		case s.ctx.Err() != nil:
			return nil, s.at, errOver
		case err != nil && !s.h.away(err):
			return nil, s.at, err
		case err != nil && !s.silent:
			s.h.opts.Logger.Warn("feed: a stream waits for the database", "err", err)
		case err == nil && next != s.at:
			s.silent = false
			return events, next, nil
		}
		s.silent = err != nil
		if err := s.wait(news); err != nil {
			return nil, s.at, err
		}
	}
}

// wait sends heartbeats until it is time to look.
func (s *stream) wait(news <-chan struct{}) error {
	poll := time.NewTimer(s.h.feed.Outbox().Options().FeedPoll)
	defer poll.Stop()
	for {
		select {
		case <-s.ctx.Done():
			return errOver
		case <-s.h.ended:
			return errOver
		case <-s.age:
			return errOver
		case <-news:
			return nil
		case <-poll.C:
			return nil
		case <-s.heartbeat.C:
			if s.beat() != nil {
				return errOver
			}
		}
	}
}

// fail tells of what ends the stream for good. The client comes back, and is answered by the status that is meant.
func (s *stream) fail(err error) {
	if errors.Is(err, errOver) {
		return
	}
	p := s.h.problemOf(s.ctx, err)
	if p.cause != nil {
		s.h.opts.Logger.Error("feed", "err", p.cause)
	}
	s.writeProblem(p)
}
