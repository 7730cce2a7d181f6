package relay

import (
	"context"
	"time"

	"github.com/sqloutbox/sqloutbox/outbox"
)

// Message is one event as it is handed over. Its slices and maps are the receiver's to keep. Delay is zero.
type Message struct {
	outbox.Event
	Seq       int64     // insertion order
	Attempt   int       // 1 for the first hand-over since it was written or requeued
	Requeued  bool      // it was a dead letter before: newer events may have been published already
	CreatedAt time.Time // by the database's clock
	// Token is the fencing number of the lease under which it is handed over. It grows with every change of owner, so
	// a destination that keeps the highest one it has seen can refuse a late owner.
	Token int64
}

// Publisher is where events go. Publish returns nil when the event is safe at the destination; any error means that
// it is handed over again after a backoff (see Permanent, RetryAfter and Unavailable). In OrderTotal it is called for
// one event at a time; in OrderNone from Options.Concurrency goroutines at once. It must return soon after ctx ends.
// A panic is an error with a stack. The relay holds no transaction and no connection while it runs.
type Publisher interface {
	Publish(ctx context.Context, m Message) error
}

// PublisherFunc is a function as a Publisher.
type PublisherFunc func(ctx context.Context, m Message) error

// Publish calls f.
func (f PublisherFunc) Publish(ctx context.Context, m Message) error { return f(ctx, m) }

// BatchPublisher takes many events in one call. New takes a Publisher; one that has PublishBatch as well is given batches,
// and its Publish is not called. It gets them
// in order, must publish them in that order where the relay has one, and gives one answer for each. In OrderTotal the
// errors after the first one use up no attempt, so that it may stop at the first failure and answer with errors for
// the rest; what is answered with nil is published, wherever it stands.
type BatchPublisher interface {
	PublishBatch(ctx context.Context, ms []Message) []error
}
