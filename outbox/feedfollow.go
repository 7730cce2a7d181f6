package outbox

import (
	"context"
	"iter"
	"sync"
	"time"
)

// Follow answers the events behind a position, and then those that come, until ctx ends or the loop is left. It looks each
// Options.FeedPoll, and at once when a relay of the same Outbox has published. Nothing of the database is held while it
// waits, or while the loop's body runs.
//
// An error comes with a zero FeedEvent. A loop that goes on after it is served on, from where it was, if trying again can
// mend it (the database is away, a conflict); after any other the loop ends, as after those of Read and that of ctx.
func (f *Feed) Follow(ctx context.Context, after Cursor, topics ...string) iter.Seq2[FeedEvent, error] {
	return func(yield func(FeedEvent, error) bool) {
		for {
			news := f.News() // before the look, so that nothing comes between
			events, next, err := f.Read(ctx, after, 0, topics...)
			if err != nil && (!yield(FeedEvent{}, err) || ctx.Err() != nil || !f.o.dialect.Classify(err).Retryable()) {
				return
			}
			for _, e := range events {
				if !yield(e, nil) {
					return
				}
			}
			if err == nil && next.Seq != after.Seq {
				after = next
				continue
			}
			if err == nil {
				after = next // the zero Cursor has got its epoch
			}
			if err := await(ctx, news, f.o.opts.FeedPoll); err != nil {
				yield(FeedEvent{}, err)
				return
			}
		}
	}
}

// News answers a channel that is closed when a relay of the same Outbox next publishes, for a reader that waits by itself.
// Ask for it before Read, so that nothing comes between; and look each Options.FeedPoll all the same, since nothing tells of
// what other processes publish.
func (f *Feed) News() <-chan struct{} { return f.o.news.wait() }

func await(ctx context.Context, news <-chan struct{}, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-news:
	case <-timer.C:
	}
	return nil
}

// WakeFollowers tells those who follow the feed in this process to look now. A relay calls it; it doesn't block.
func (o *Outbox) WakeFollowers() { o.news.tell() }

// news wakes any number of followers.
type news struct {
	mu   sync.Mutex // guards next
	next chan struct{}
}

// wait answers a channel that is closed at the next tell.
func (n *news) wait() <-chan struct{} {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.next == nil {
		n.next = make(chan struct{})
	}
	return n.next
}

func (n *news) tell() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.next != nil {
		close(n.next)
		n.next = nil
	}
}
