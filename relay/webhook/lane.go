package webhook

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sqloutbox/sqloutbox/internal/clocks"
)

const (
	// orderedRun is how many deliveries a claim of an ordered subscription takes, to be sent one after the other.
	orderedRun = 16
	// carefulRun is the same for one whose every try fails.
	carefulRun = 8
	// flush is for how long what has ended waits for more of its kind before it is recorded.
	flush = 100 * time.Millisecond
	// flushCareful is the same while every try fails.
	flushCareful = time.Second
	// grace is for how long requests under way may go on once Run's context has ended.
	grace = 5 * time.Second
	// lastTries is how often a lane tries to record what has ended once Run's context has.
	lastTries = 3
)

// lane works for one subscription: it claims, sends and records, until nothing is due. It shares nothing with other lanes but
// the right to have a transaction, so that a slow endpoint is slow for itself alone.
type lane struct {
	w      *Webhooks
	id     int64
	nudged chan struct{} // of capacity 1: there is something new
	ready  chan struct{} // of capacity 1: done has grown
	slots  chan struct{} // as many as requests at once
	single bool          // one request at a time: as it was claimed last; before that the careful guess
	flush  time.Duration // flush or flushCareful
	unsure []string      // claims of transactions that may have happened
	rest   *atomic.Bool  // of the claims since: the endpoint wants to be left alone. Another one when that is recorded
	seen   atomic.Pointer[sight]

	mu    sync.Mutex // guards what is below
	done  []outcome
	first time.Time // when the first of done ended

	requests sync.WaitGroup
}

func newLane(w *Webhooks, id int64) *lane {
	return &lane{
		w: w, id: id, single: true, flush: flush, rest: new(atomic.Bool),
		nudged: make(chan struct{}, 1), ready: make(chan struct{}, 1), slots: make(chan struct{}, w.opts.Parallel),
	}
}

// signal never blocks: a signal that has not been taken stands for all.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// run works until nothing is due and all that was claimed is recorded.
func (l *lane) run(ctx context.Context) {
	defer l.requests.Wait()
	sending, cancel := longer(ctx, grace)
	defer cancel()
	recording, cancel := longer(ctx, 2*grace)
	defer cancel()
	inHand, open, failed := 0, true, 0
	for {
		t := &turn{ended: l.collect()}
		t.left = inHand - len(t.ended)
		t.open = open && ctx.Err() == nil && t.left <= l.low(ctx)
		if len(t.ended) > 0 || t.open {
			if err := l.turn(recording, t); err != nil {
				l.w.log.Warn("deliveries could not be claimed or recorded yet", "subscription", l.id, "ended", len(t.ended), "error", err)
				l.putBack(t.ended)
				if failed++; ctx.Err() != nil && failed > lastTries {
					l.w.ended(l, true)
					return // claims lapse
				}
				clocks.Sleep(ctx, min(time.Second, time.Duration(failed*failed)*10*time.Millisecond)) // and then the last tries, at once
				continue
			}
			failed, inHand = 0, t.left+len(t.claimed)
			if t.open {
				open = t.more
			}
			l.send(ctx, sending, t.claimed)
		}
		switch {
		case inHand > 0:
			open = l.wait(ctx, inHand) || open
		case open && ctx.Err() == nil: // the next claim
		case l.w.ended(l, ctx.Err() != nil):
			return
		default:
			open = true
		}
	}
}

// longer is ctx that ends by so much later.
func longer(ctx context.Context, by time.Duration) (context.Context, context.CancelFunc) {
	out, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(by, cancel) })
	return out, func() { stop(); cancel() }
}

// low is how much may be in hand when more is claimed: what is sent one by one is sent to its end first.
func (l *lane) low(ctx context.Context) int {
	if l.single || ctx.Err() != nil {
		return 0
	}
	return l.w.opts.Parallel
}

// wait returns when there is enough to record, or when it was nudged.
func (l *lane) wait(ctx context.Context, inHand int) (nudged bool) {
	over := ctx.Done()
	for {
		n, since := l.waiting()
		if n > 0 && (inHand-n <= l.low(ctx) || since >= l.flush) {
			return false
		}
		var timer *time.Timer
		var late <-chan time.Time
		if n > 0 {
			timer = time.NewTimer(l.flush - since)
			late = timer.C
		}
		select {
		case <-l.ready:
		case <-late:
		case <-l.nudged:
			nudged = true
		case <-over:
			over = nil // what is not sent yet ends at once, and is recorded
		}
		if timer != nil {
			timer.Stop()
		}
		if nudged {
			return true
		}
	}
}

func (l *lane) waiting() (n int, since time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.done), time.Since(l.first)
}

// collect takes what has ended.
func (l *lane) collect() []outcome {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := l.done
	l.done = nil
	return out
}

// putBack is for what could not be recorded.
func (l *lane) putBack(all []outcome) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.done = append(all, l.done...)
}

func (l *lane) end(o outcome) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.done = append(l.done, o); len(l.done) == 1 {
		l.first = time.Now()
	}
	signal(l.ready)
}
