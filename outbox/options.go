package outbox

import (
	"fmt"
	"time"

	"github.com/sqloutbox/sqloutbox/internal/sqltext"
)

// Options of an Outbox. Nil and zero fields mean the defaults; bad values are refused by New.
type Options struct {
	// Prefix begins every table name; default "outbox_". Letters, digits and underscores, at most 32 bytes. Names stand
	// unquoted in SQL, so that PostgreSQL makes lower case of capitals.
	Prefix string
	// Schema is the PostgreSQL schema that holds the tables; default: the search path decides. Lower-case letters, digits
	// and underscores, at most 63 bytes, and no reserved word such as "order" or "user", since it stands unquoted in SQL.
	// Refused elsewhere.
	Schema string
	// MaxPayload is the largest payload that Write accepts, in bytes; default DefaultMaxPayload (1 MiB). On MySQL and
	// MariaDB twice this must fit max_allowed_packet.
	MaxPayload int
	// IgnoreDuplicates makes Write leave out an event whose id the outbox already holds, in place of ErrDuplicate;
	// the transaction stays usable on every engine. The id is still returned.
	IgnoreDuplicates bool
	// SkipTxCheck leaves out the question whether the transaction is still open. It costs a round trip a Write on MySQL,
	// one an InTx on MySQL and MariaDB, whose INSERT asks by itself, and next to nothing elsewhere. Only for hosts that
	// never go on after a failed statement.
	SkipTxCheck bool
	// Feed has every relay that is made from this outbox number what it publishes; see Outbox.Feed. It is a fact of the
	// database, turned on by the first such relay that starts: from then on one without it is refused. A relay with Feed
	// needs a Retention.
	Feed bool
	// FeedPoll is how often Feed.Follow looks for more where nothing in this process tells it; default 500 ms.
	FeedPoll time.Duration
	// Retry is what every relay made from this outbox does with an event that fails, where the relay's own options leave
	// it open; default: relay's defaults. Set it once for a whole application.
	Retry RetryDefaults
}

// RetryDefaults are the fields of the same names in relay.Options. A relay takes those that it is not given itself. Zero
// leaves a field to relay's own default; what is negative is refused.
type RetryDefaults struct {
	// MaxAttempts is the number of hand-overs after which an event is a dead letter; relay's default is 11.
	MaxAttempts int
	// DeadLetterAfter keeps an event from being given up before its first failure is this old; relay's default is 0, which
	// keeps none.
	DeadLetterAfter time.Duration
	// Backoff is the wait after the first failure; relay's default is 1 s. It doubles with each attempt.
	Backoff time.Duration
	// BackoffMax is the longest wait after a failure, not less than Backoff; relay's default is 5 min.
	BackoffMax time.Duration
}

func (o *Options) withDefaults() Options {
	var out Options
	if o != nil {
		out = *o
	}
	if out.Prefix == "" {
		out.Prefix = sqltext.DefaultPrefix
	}
	if out.MaxPayload == 0 {
		out.MaxPayload = DefaultMaxPayload
	}
	if out.FeedPoll == 0 {
		out.FeedPoll = 500 * time.Millisecond
	}
	return out
}

func (o *Options) validate(dialectName string) error {
	if err := sqltext.CheckNames(ErrInvalidOptions, dialectName, o.Schema, o.Prefix); err != nil {
		return err
	}
	if o.MaxPayload < 0 {
		return fmt.Errorf("%w: MaxPayload %d: must not be negative", ErrInvalidOptions, o.MaxPayload)
	}
	if o.FeedPoll < 0 {
		return fmt.Errorf("%w: FeedPoll %v: must not be negative", ErrInvalidOptions, o.FeedPoll)
	}
	return o.Retry.validate()
}

func (r *RetryDefaults) validate() error {
	if r.MaxAttempts < 0 {
		return fmt.Errorf("%w: Retry.MaxAttempts %d: must not be negative", ErrInvalidOptions, r.MaxAttempts)
	}
	for _, d := range []struct {
		name  string
		value time.Duration
	}{
		{"DeadLetterAfter", r.DeadLetterAfter}, {"Backoff", r.Backoff}, {"BackoffMax", r.BackoffMax},
	} {
		if d.value < 0 {
			return fmt.Errorf("%w: Retry.%s %v: must not be negative", ErrInvalidOptions, d.name, d.value)
		}
	}
	if r.BackoffMax > 0 && r.BackoffMax < r.Backoff {
		return fmt.Errorf("%w: Retry.BackoffMax %v is less than Retry.Backoff %v", ErrInvalidOptions, r.BackoffMax, r.Backoff)
	}
	return nil
}
