package outbox

import (
	"fmt"

	"github.com/sqloutbox/sqloutbox/internal/plaintext"
)

func (o *Outbox) validate(index int, e *Event) error {
	bad := func(field, format string, args ...any) error {
		return &InvalidEventError{Index: index, Field: field, Reason: fmt.Sprintf(format, args...)}
	}
	if reason := plaintext.Bad(e.ID, MaxIDLen); reason != "" {
		return bad("ID", "%s", reason)
	}
	if reason := plaintext.BadName(e.Topic, MaxTopicLen); reason != "" {
		return bad("Topic", "%s", reason)
	}
	if reason := plaintext.Bad(e.Key, MaxKeyLen); reason != "" {
		return bad("Key", "%s", reason)
	}
	if len(e.Payload) > o.opts.MaxPayload {
		return bad("Payload", "has %d bytes; at most %d are allowed (Options.MaxPayload)", len(e.Payload), o.opts.MaxPayload)
	}
	if e.Delay < 0 || e.Delay > MaxDelay {
		return bad("Delay", "is %v; it must be between 0 and %v", e.Delay, MaxDelay)
	}
	return nil
}
