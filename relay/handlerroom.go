package relay

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sqloutbox/sqloutbox/outbox"
)

// handlersAtOnce leaves one connection of a bounded pool to what the handlers themselves, or the relay, ask beside their
// transactions.
func handlersAtOnce(db *sql.DB) int {
	const unbounded = 1 << 16
	if most := db.Stats().MaxOpenConnections; most > 0 {
		return max(1, most-1)
	}
	return unbounded
}

// enter takes a place in a room, if it has a limit. leave may be called more than once.
func enter(ctx context.Context, room chan struct{}) (leave func(), err error) {
	if room == nil {
		return func() {}, ctx.Err()
	}
	select {
	case room <- struct{}{}:
		leave = sync.OnceFunc(func() { <-room })
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if err := ctx.Err(); err != nil { // both were ready
		leave()
		return nil, err
	}
	return leave, nil
}

var errFull = errors.New("as many calls as its Concurrency are under way, and enough wait for their turn")

// enter takes one of a handler's own places. What waits for one keeps none of the relay's, and no more than half a batch
// waits: the events of other handlers go on meanwhile. What goes alone waits for none: all that goes beside it is in the room,
// and may never return.
func (own *handler) enter(ctx context.Context, r *Relay, e *event, alone bool) (leave func(), err error) {
	if own.room == nil {
		return func() {}, ctx.Err()
	}
	select {
	case own.room <- struct{}{}:
		own.queue.idle()
		return own.leaves(), nil
	default:
	}
	full := func() error { return &postponedError{err: errFull, wait: jitter(own.queue.wait(&r.opts))} }
	if alone {
		return nil, full()
	}
	if own.line != nil {
		select {
		case own.line <- struct{}{}:
			defer func() { <-own.line }()
		default:
			return nil, full()
		}
	}
	if e != nil && e.hand != nil {
		defer e.hand.standAside()()
	}
	if _, err := enter(ctx, own.room); err != nil {
		return nil, err
	}
	return own.leaves(), nil
}

// leaves gives a place back, once.
func (own *handler) leaves() func() {
	return sync.OnceFunc(func() {
		<-own.room
		own.queue.gone()
	})
}

// queue is about how many events were put off for want of room, less the calls that have ended since. So each waits for the
// longer, the more are before it, and a long queue of one handler is not looked through again and again before what is for
// the others.
type queue struct{ n atomic.Int64 }

// longestQueue bounds for how long a handler that has become idle may not know of an event.
const longestQueue = 30 * time.Second

func (q *queue) wait(opts *Options) time.Duration {
	batches := q.n.Add(1) / int64(opts.Batch)
	if batches >= int64(longestQueue/opts.Poll) {
		return max(longestQueue, opts.Poll)
	}
	return opts.Poll + time.Duration(batches)*opts.Poll
}

func (q *queue) gone() { q.n.Store(max(0, q.n.Load()-1)) }

// idle: there was room at once, so those that come later need not wait for as long.
func (q *queue) idle() { q.n.Store(q.n.Load() / 2) }

// full reports whether a call would have to wait, beside so many more.
func (own *handler) full(more int) bool {
	return own.room != nil && len(own.room)+more >= cap(own.room)
}

// enterTx takes a place for a handler's transaction. With one writer handlers have their turns among themselves first, so
// that the relay's own transactions, signs of life among them, wait for one handler at most.
func (h *Handlers) enterTx(ctx context.Context) (leave func(), err error) {
	leaveTurn, err := enter(ctx, h.turns)
	if err != nil {
		return nil, err
	}
	leaveRoom, err := enter(ctx, h.room)
	if err != nil {
		leaveTurn()
		return nil, err
	}
	return func() {
		leaveRoom()
		leaveTurn()
	}, nil
}

// timeout is how long one call may run, from when it has all that it waits for.
func (h *Handlers) timeout(own *handler) time.Duration {
	limit := h.mostTime(own, &h.relay.opts)
	if own.Timeout > 0 {
		limit = min(limit, own.Timeout)
	}
	return limit
}

// mostTime is what the relay's options leave to a call. With one writer the lease can't be renewed meanwhile: a quarter is
// what remains if a turn and a renewal have each waited for a handler.
func (h *Handlers) mostTime(own *handler, opts *Options) time.Duration {
	if own.Tx != nil && h.oneWriter() {
		return min(opts.PublishTimeout, opts.Lease/4)
	}
	return opts.PublishTimeout
}

func (h *Handlers) oneWriter() bool { return h.d.Lock() == "" }

// checkTimeouts refuses what would be cut short in silence.
func (h *Handlers) checkTimeouts(opts *Options) error {
	for _, own := range h.all {
		if most := h.mostTime(own, opts); own.Timeout > most {
			return fmt.Errorf("%w: handler %q: Timeout %v: at most %v are allowed: the PublishTimeout, and with Tx on SQLite a quarter of the Lease",
				outbox.ErrInvalidOptions, own.Name, own.Timeout, most)
		}
	}
	return nil
}
