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
	Requeued  bool      // it was put back: a dead letter, or one replayed for a new handler; newer ones may be published
	CreatedAt time.Time // by the database's clock
	// Token is the fencing number under which it is handed over, and grows with every change of owner: of the outbox in
	// OrderTotal, of the key's partition in OrderPerKey, of the event in OrderNone. So a destination that keeps the highest
	// one that it has seen for all, for the key, or for the event, can refuse a late owner.
	Token int64
}

// Publisher is where events go. Publish returns nil when the event is safe at the destination; any error means that
// it is handed over again after a backoff (see Permanent, RetryAfter and Unavailable). In OrderTotal it is called for
// one event at a time; else from Options.Concurrency goroutines at once, in OrderPerKey never for two of a key. It must
// return soon after ctx ends.
// A panic is an error with a stack. The relay holds no transaction and no connection while it runs.
type Publisher interface {
	Publish(ctx context.Context, m Message) error
}

// PublisherFunc is a function as a Publisher.
type PublisherFunc func(ctx context.Context, m Message) error

// Publish calls f.
func (f PublisherFunc) Publish(ctx context.Context, m Message) error { return f(ctx, m) }

// BatchPublisher takes many events in one call. New takes a Publisher; one that has PublishBatch as well is given batches,
// and its Publish is not called. It gives one answer for each. In OrderTotal it gets them in order and must publish them in
// that order: the errors after the first failure that holds what is behind it use up no attempt, so that it may stop there and
// answer with errors for the rest (what makes a dead letter holds nothing under SkipDead: the next one is then judged by its
// own error); what is answered with nil is published, wherever it stands. In OrderPerKey a batch holds one event of a key at
// most, unless Options.BatchInOrder says that it keeps the order of a key like that.
type BatchPublisher interface {
	PublishBatch(ctx context.Context, ms []Message) []error
}
