package feedhttp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/sqloutbox/sqloutbox/outbox"
)

// problem is an answer that is no events, as application/problem+json (RFC 9457). None has text of the database in it.
type problem struct {
	Title  string `json:"title"` // that of the status
	Status int    `json:"status"`
	Code   string `json:"code"`             // for programs
	Detail string `json:"detail"`           // for people: what to do
	Oldest string `json:"oldest,omitempty"` // the position before all that is kept
	Head   string `json:"head,omitempty"`   // the position behind all there is
	cause  error
}

func (p *problem) Error() string { return p.Detail }

func newProblem(status int, code, detail string) *problem {
	return &problem{Title: http.StatusText(status), Status: status, Code: code, Detail: detail}
}

func badRequest(code, detail string) error { return newProblem(http.StatusBadRequest, code, detail) }

// problemOf says what an error means to a reader.
func (h *Handler) problemOf(ctx context.Context, err error) *problem {
	var p *problem
	var gone *outbox.GoneError
	switch {
	case errors.As(err, &p):
		return p
	case errors.As(err, &gone):
		p = newProblem(http.StatusGone, "gone", "What comes next here is purged. Read on after oldest; what lies between is lost to you.")
		p.Oldest = gone.Oldest.String()
		return p
	case errors.Is(err, outbox.ErrEpoch):
		p = newProblem(http.StatusConflict, "epoch",
			"The position is of another epoch: the feed was restored from a backup, and numbers after that backup were given again. "+
				"Read again after oldest, and leave out the events whose ids you know; or go on after head.")
		h.addBounds(ctx, p)
		return p
	case errors.Is(err, outbox.ErrAhead):
		p = newProblem(http.StatusBadRequest, "ahead", "The position is beyond the head of the feed. Send one that this feed has given.")
		h.addBounds(ctx, p)
		return p
	case errors.Is(err, outbox.ErrNoFeed):
		return newProblem(http.StatusNotFound, "no-feed", "There is no feed here: nothing has turned it on yet, as the first relay with a feed does.")
	case h.away(err):
		p = newProblem(http.StatusServiceUnavailable, "away", "The database does not answer. Try again.")
	default:
		p = newProblem(http.StatusInternalServerError, "internal", "The feed can't be read. Its operator can see why.")
	}
	p.cause = err
	return p
}

// addBounds tells where the feed begins and ends, as far as that can be found out.
func (h *Handler) addBounds(ctx context.Context, p *problem) {
	_ = h.ask(ctx, func(ctx context.Context) error {
		if c, err := h.feed.Oldest(ctx); err == nil {
			p.Oldest = c.String()
		}
		if c, err := h.feed.Head(ctx); err == nil {
			p.Head = c.String()
		}
		return nil
	})
}

// away reports whether trying again can mend an error. A request is cancelled where the client has hung up, or the server ends.
func (h *Handler) away(err error) bool {
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) || h.feed.Outbox().Dialect().Classify(err).Retryable()
}

func (h *Handler) fail(w http.ResponseWriter, r *http.Request, err error) {
	h.answer(w, r, h.found(r, err))
}

// found is problemOf, and tells the operator.
func (h *Handler) found(r *http.Request, err error) *problem {
	p := h.problemOf(r.Context(), err)
	if p.cause != nil && r.Context().Err() == nil { // or the client has hung up
		h.opts.Logger.Error("feed", "err", p.cause)
	}
	return p
}

const retryAfter = 2 // seconds

// answer sends a problem.
func (h *Handler) answer(w http.ResponseWriter, r *http.Request, p *problem) {
	w.Header().Set("Content-Type", "application/problem+json")
	if p.Status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", fmt.Sprint(retryAfter))
	}
	out, _ := newWriter(w, h.opts.WriteTimeout)
	w.WriteHeader(p.Status)
	if r.Method == http.MethodHead {
		return
	}
	_, _ = out.Write(p.encode())
	out.finish()
}

func (p *problem) encode() []byte {
	text, err := json.Marshal(p)
	if err != nil { // a struct of texts and a number: can't be
		return []byte("{}")
	}
	return text
}
