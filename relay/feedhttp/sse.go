package feedhttp

import (
	"fmt"
	"time"

	"github.com/sqloutbox/sqloutbox/outbox"
)

// The blocks of a stream (WHATWG HTML, 9.2). Nothing in them has a line's end of its own: cursors are digits, and events
// are JSON without white space. The writer keeps its first error, which send answers.

func (s *stream) writeRetry(d time.Duration) { fmt.Fprintf(s.out, "retry: %d\n\n", d.Milliseconds()) }

func (s *stream) writeProblem(p *problem) {
	fmt.Fprintf(s.out, "event: problem\ndata: %s\n\n", p.encode())
}

// writePosition is a block with an id and no data: a client notes the id, for its Last-Event-ID, and dispatches nothing.
func (s *stream) writePosition(at outbox.Cursor) {
	fmt.Fprintf(s.out, "id: %v\n\n", at)
	s.told = at
}

func (s *stream) writeEvent(e *outbox.FeedEvent) error {
	fmt.Fprintf(s.out, "id: %v\ndata: ", e.Cursor)
	_, _ = s.out.Write(s.h.encode(e))
	_, err := s.out.WriteString("\n\n")
	s.told = e.Cursor
	return err
}

// write sends a page, and now and then how far the stream has come past what its topics leave out, so that a client that
// comes back does not have all of that looked through again.
func (s *stream) write(events []outbox.FeedEvent, next outbox.Cursor) error {
	for i := range events {
		if err := s.writeEvent(&events[i]); err != nil {
			return err
		}
		if s.over() { // a page can be megabytes, and its client slow
			return errOver
		}
	}
	if s.at = next; next.Seq-s.told.Seq >= stride {
		s.writePosition(next)
	}
	return s.out.send()
}

// beat shows that both sides are there.
func (s *stream) beat() error {
	_, _ = s.out.WriteString(":\n\n")
	if s.told != s.at {
		s.writePosition(s.at)
	}
	return s.out.send()
}
