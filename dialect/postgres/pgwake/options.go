package pgwake

import (
	"fmt"
	"log/slog"
	"regexp"
	"time"
)

// DefaultChannel is the channel of a Notifier that names none.
const DefaultChannel = "sqloutbox"

// Options of a Notifier. Nil and zero fields mean the defaults; bad values are refused by New.
type Options struct {
	// Channel is PostgreSQL's name for what is sent on and heard; default DefaultChannel. Letters, digits and
	// underscores, at most 63 bytes; capitals count. Channels belong to a database: several outboxes in one, by schema or
	// prefix, need a channel each, or their relays look in vain whenever another outbox is written to.
	Channel string
	// Idle is how long Listen hears nothing before it asks whether its connection still lives, which is how it finds out
	// about one that was dropped on the way without a word; default 30 s.
	Idle time.Duration
	// Logger gets what an operator should know: connections that fail and come up again; default: silent.
	Logger *slog.Logger
}

func (o *Options) withDefaults() Options {
	var out Options
	if o != nil {
		out = *o
	}
	if out.Channel == "" {
		out.Channel = DefaultChannel
	}
	if out.Idle == 0 {
		out.Idle = 30 * time.Second
	}
	if out.Logger == nil {
		out.Logger = slog.New(slog.DiscardHandler)
	}
	return out
}

// channelName: PostgreSQL takes more, but LISTEN cuts a longer name where pg_notify refuses it.
var channelName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,62}$`)

func (o *Options) validate() error {
	if !channelName.MatchString(o.Channel) {
		return fmt.Errorf("%w: Channel %q: letters, digits and underscores, not a digit first, at most 63 bytes",
			ErrInvalidOptions, o.Channel)
	}
	if o.Idle < 0 {
		return fmt.Errorf("%w: Idle %v: must not be negative", ErrInvalidOptions, o.Idle)
	}
	return nil
}
