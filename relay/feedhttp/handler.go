package feedhttp

import (
	"errors"
	"fmt"
	"net/http"
	"sync"

	"github.com/sqloutbox/sqloutbox/outbox"
)

// AllowAll is an Options.Authorize that lets everybody read everything: for tests, and where something in front decides.
func AllowAll(*http.Request) error { return nil }

// Handler serves a feed at whatever path it is mounted on. It is safe for concurrent use, and runs nothing between requests.
type Handler struct {
	feed    *outbox.Feed
	opts    Options
	streams chan struct{} // a place each
	reads   chan struct{} // a place each
	held    heldBytes
	end     func()
	ended   chan struct{} // closed by end
}

// New makes a Handler. It talks to no database. Errors: ErrInvalidOptions.
func New(f *outbox.Feed, opts *Options) (*Handler, error) {
	o := opts.withDefaults()
	err := o.validate()
	if f == nil {
		err = fmt.Errorf("%w: the feed is nil", ErrInvalidOptions)
	}
	if err != nil {
		return nil, fmt.Errorf("new feed handler: %w", err)
	}
	ended := make(chan struct{})
	return &Handler{
		feed:    f,
		opts:    o,
		streams: make(chan struct{}, o.MaxStreams),
		reads:   make(chan struct{}, o.MaxReads),
		held:    heldBytes{max: o.MaxHeld},
		end:     sync.OnceFunc(func() { close(ended) }),
		ended:   ended,
	}, nil
}

// EndStreams ends all streams, and refuses new ones. http.Server.Shutdown waits for requests and does not end them, so
// register it: server.RegisterOnShutdown(h.EndStreams). It does not wait, which Shutdown does.
func (h *Handler) EndStreams() { h.end() }

const methods = "GET, HEAD, OPTIONS"

// ServeHTTP answers a page, or follows as a stream, as the Accept header says.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	head := w.Header()
	head.Set("Cache-Control", "no-store") // a page changes as events come and are purged, and is not for everybody
	head.Set("X-Content-Type-Options", "nosniff")
	head.Add("Vary", "Accept")
	switch r.Method {
	case http.MethodOptions: // tells nothing about the feed; a browser's preflight has no credentials
		head.Set("Allow", methods)
		w.WriteHeader(http.StatusNoContent)
		return
	case http.MethodGet, http.MethodHead:
	default:
		head.Set("Allow", methods)
		h.answer(w, r, newProblem(http.StatusMethodNotAllowed, "method", "The feed is read by GET."))
		return
	}
	if err := h.opts.Authorize(r); err != nil {
		h.refuse(w, r, err)
		return
	}
	format, ok := negotiate(r.Header.Values("Accept"))
	if !ok {
		h.answer(w, r, newProblem(http.StatusNotAcceptable, "accept",
			"Accept one of application/cloudevents-batch+json, application/json and text/event-stream."))
		return
	}
	q, err := h.parse(r, format)
	switch {
	case err != nil:
		h.fail(w, r, err)
	case format == formatStream:
		h.stream(w, r, q)
	default:
		h.page(w, r, q, format)
	}
}

func (h *Handler) refuse(w http.ResponseWriter, r *http.Request, err error) {
	if errors.Is(err, ErrUnauthenticated) {
		w.Header().Set("WWW-Authenticate", h.opts.Challenge)
		h.answer(w, r, newProblem(http.StatusUnauthorized, "unauthenticated", "Say who you are."))
		return
	}
	h.answer(w, r, newProblem(http.StatusForbidden, "forbidden", "You may not read this."))
}
