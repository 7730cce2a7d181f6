package outbox

import "time"

// Event is one fact to hand on. What Write takes is not changed and not kept.
type Event struct {
	// ID names the event: it stays the same over every redelivery, so consumers can tell doubles apart. It must be unique
	// for ever, and is refused a second time (ErrDuplicate) for as long as the event's row exists. At most 128 bytes of
	// UTF-8 without NUL, compared byte by byte. Empty: a new UUIDv7.
	ID string
	// Topic says what kind of event it is. Required, at most 255 bytes of UTF-8 without NUL.
	Topic string
	// Key is the ordering scope, usually the id of the aggregate that changed. At most 255 bytes of UTF-8 without NUL.
	// Empty: no order within a key.
	Key string
	// Payload is carried as opaque bytes and comes out byte for byte. Nil and empty are the same. At most
	// Options.MaxPayload bytes.
	Payload []byte
	// Headers are opaque text pairs, such as a content type or a trace context: UTF-8 without NUL, no empty name, at
	// most 64 KiB in all, written as JSON.
	Headers map[string]string
	// Delay keeps the event back until now + Delay by the database's clock, to the millisecond. It must not be
	// negative, and is at most MaxDelay.
	Delay time.Duration
}

// Limits of an event's parts, in bytes. They are the same on every engine.
const (
	MaxIDLen          = 128
	MaxTopicLen       = 255
	MaxKeyLen         = 255
	MaxHeadersLen     = 64 << 10
	DefaultMaxPayload = 1 << 20
)

// MaxDelay bounds Event.Delay: ten years.
const MaxDelay = 10 * 365 * 24 * time.Hour
