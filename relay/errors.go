package relay

import "errors"

var (
	// ErrRunning: Run, RunOnce or Drain was called while one of them is under way on the same Relay.
	ErrRunning = errors.New("the relay is already running")
	// ErrStuck: a publisher did not return within its time-out and grace, though its context had ended. What it was
	// given is handed out again by another process, or by this one once it has returned.
	ErrStuck = errors.New("the publisher does not return")
	// ErrLeaseLost: another relay owns what this one owned, or the lease ran out. It is also the cause of the context
	// that a hand-over is given then.
	ErrLeaseLost = errors.New("the lease is lost")
	// ErrOrder: another relay works on this outbox in another order. The error names it. Change the order of all relays
	// at once: stop those of the one, then start those of the other.
	ErrOrder = errors.New("another relay works in another order")
	// ErrTopicPaused: a topic is paused, and OrderTotal can be paused as a whole only.
	ErrTopicPaused = errors.New("a part of an outbox in total order is paused")
	// ErrFeed: the outbox has a feed, and this relay was made from an outbox.Outbox without Options.Feed: what it published
	// would be missing there.
	ErrFeed = errors.New("the outbox has a feed: set Feed in outbox.Options")
	// ErrAnswers: a BatchPublisher gave another number of answers than it was given messages.
	ErrAnswers = errors.New("the batch publisher gave a wrong number of answers")
)
