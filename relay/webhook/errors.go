package webhook

import "errors"

var (
	// ErrUnknownSubscription: there is no subscription of this name.
	ErrUnknownSubscription = errors.New("no such subscription")
	// ErrExists: there is a subscription of this name already.
	ErrExists = errors.New("a subscription of this name exists already")
	// ErrRunning: Run was called while it is under way.
	ErrRunning = errors.New("the webhooks are already running")
)
