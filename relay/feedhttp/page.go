package feedhttp

import (
	"net/http"

	"github.com/sqloutbox/sqloutbox/outbox"
)

// NextHeader is the header of a page that holds the cursor where the next page begins. It is the one that was asked with
// when there is no more.
const NextHeader = "Feed-Next"

func (h *Handler) page(w http.ResponseWriter, r *http.Request, q query, f format) {
	if h.held.full() { // what is read would be thrown away
		h.answer(w, r, pagesFull())
		return
	}
	events, _, next, err := h.first(r.Context(), q)
	if err != nil {
		h.fail(w, r, err)
		return
	}
	size := sizeOf(events)
	if !h.held.take(size) {
		h.answer(w, r, pagesFull())
		return
	}
	defer h.held.give(size)
	w.Header().Set("Content-Type", string(f))
	w.Header().Set(NextHeader, next.String())
	w.Header().Set("Link", q.link(next))
	if r.Method == http.MethodHead {
		return
	}
	holdLittle(r)
	out, _ := newWriter(w, h.opts.WriteTimeout) // without deadlines the server's own hold
	defer out.finish()
	h.writePage(out, events, next, f)
}

// writePage stops where the client does: the answer then ends without its last chunk, which is an error to whoever reads it.
func (h *Handler) writePage(out *writer, events []outbox.FeedEvent, next outbox.Cursor, f format) {
	before, after := "[", "]"
	if f == formatEnvelope {
		before, after = `{"events":[`, `],"next":"`+next.String()+`"}`
	}
	_, _ = out.WriteString(before) // out keeps its first error
	for i := range events {
		if i > 0 {
			_ = out.WriteByte(',')
		}
		if _, err := out.Write(h.encode(&events[i])); err != nil {
			return
		}
	}
	_, _ = out.WriteString(after)
}
