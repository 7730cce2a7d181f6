package outbox

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// The rules below give one verdict for all engines. PostgreSQL refuses NUL and broken UTF-8 in text, MySQL only the
// latter, SQLite neither, and a lax sql_mode cuts what is too long: so the database is never asked.

func (o *Outbox) validate(index int, e *Event) error {
	bad := func(field, format string, args ...any) error {
		return &InvalidEventError{Index: index, Field: field, Reason: fmt.Sprintf(format, args...)}
	}
	if reason := badText(e.ID, MaxIDLen); reason != "" {
		return bad("ID", "%s", reason)
	}
	if e.Topic == "" {
		return bad("Topic", "is empty")
	}
	if reason := badText(e.Topic, MaxTopicLen); reason != "" {
		return bad("Topic", "%s", reason)
	}
	if reason := badText(e.Key, MaxKeyLen); reason != "" {
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

// badText is why s can't be kept as text of at most limit bytes, or "".
func badText(s string, limit int) string {
	switch {
	case len(s) > limit:
		return fmt.Sprintf("has %d bytes; at most %d are allowed", len(s), limit)
	case !utf8.ValidString(s):
		return "is not valid UTF-8"
	case strings.IndexByte(s, 0) >= 0:
		return "holds a NUL character"
	}
	return ""
}
