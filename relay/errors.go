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
	// ErrAnswers: a BatchPublisher gave another number of answers than it was given messages.
	ErrAnswers = errors.New("the batch publisher gave a wrong number of answers")
)
