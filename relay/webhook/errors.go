package webhook

import "errors"

// Errors of a sender.
var (
	// ErrUnknownSubscription: there is no subscription of this name.
	ErrUnknownSubscription = errors.New("no such subscription")
	// ErrExists: there is a subscription of this name already.
	ErrExists = errors.New("a subscription of this name exists already")
	// ErrRunning: Run was called while it is under way.
	ErrRunning = errors.New("the webhooks are already running")
	// ErrAddress: an endpoint's address is one that requests must not be sent to. See Options.AllowPrivate.
	ErrAddress = errors.New("the address is not a public one")
	// ErrSecret: a text is not a key of the standard.
	ErrSecret = errors.New("invalid webhook secret")
)

// Errors of Verify.
var (
	// ErrHeaders: a header of the standard is missing, there more than once, or can't be read, or the id has a full stop in it.
	ErrHeaders = errors.New("webhook headers are missing or malformed")
	// ErrTimestamp: the request was signed too long ago, or in the future.
	ErrTimestamp = errors.New("the webhook's timestamp is too old or too new")
	// ErrSignature: none of the signatures is one of the keys'.
	ErrSignature = errors.New("no signature of the webhook fits")
	// ErrReplayed: a Verifier has seen this very request before.
	ErrReplayed = errors.New("the webhook was seen before")
)
