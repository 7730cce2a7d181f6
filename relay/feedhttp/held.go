package feedhttp

import (
	"net/http"
	"sync/atomic"

	"github.com/sqloutbox/sqloutbox/outbox"
)

// heldBytes are what pages hold while their clients take them.
type heldBytes struct {
	max int64
	now atomic.Int64
}

// full reports whether no page more may be read.
func (b *heldBytes) full() bool { return b.now.Load() >= b.max }

// take counts a page. It is refused where it does not fit beside others; one alone may have any size.
func (b *heldBytes) take(n int64) bool {
	if after := b.now.Add(n); after > b.max && after > n {
		b.now.Add(-n)
		return false
	}
	return true
}

func (b *heldBytes) give(n int64) { b.now.Add(-n) }

// sizeOf is about what a page takes in memory.
func sizeOf(events []outbox.FeedEvent) (n int64) {
	for i := range events {
		e := &events[i].Event
		n += 512 + int64(len(e.ID)+len(e.Topic)+len(e.Key)+cap(e.Payload))
		for name, value := range e.Headers {
			n += 64 + int64(len(name)+len(value))
		}
	}
	return n
}

func pagesFull() *problem {
	return newProblem(http.StatusServiceUnavailable, "pages", "Other clients are being sent as much as may be sent at once. Try again.")
}
