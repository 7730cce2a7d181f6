package outbox

import (
	"fmt"
	"regexp"
)

// Options of an Outbox. Nil and zero fields mean the defaults; bad values are refused by New.
type Options struct {
	// Prefix begins every table name; default "outbox_". Letters, digits and underscores, at most 32 bytes.
	Prefix string
	// Schema is the PostgreSQL schema that holds the tables; default: the search path decides. Refused elsewhere.
	Schema string
	// MaxPayload is the largest payload that Write accepts, in bytes; default DefaultMaxPayload (1 MiB). On MySQL and
	// MariaDB twice this must fit max_allowed_packet.
	MaxPayload int
	// IgnoreDuplicates makes Write leave out an event whose id the outbox already holds, in place of ErrDuplicate;
	// the transaction stays usable on every engine. The id is still returned.
	IgnoreDuplicates bool
	// SkipTxCheck leaves out the question whether the transaction is still open, which costs a round trip on MySQL
	// and MariaDB and next to nothing elsewhere. Only for hosts that never go on after a failed statement.
	SkipTxCheck bool
}

var (
	prefixPattern = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,31}$`)
	schemaPattern = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,62}$`)
)

func (o *Options) withDefaults() Options {
	var out Options
	if o != nil {
		out = *o
	}
	if out.Prefix == "" {
		out.Prefix = "outbox_"
	}
	if out.MaxPayload == 0 {
		out.MaxPayload = DefaultMaxPayload
	}
	return out
}

func (o *Options) validate(dialectName string) error {
	switch {
	case !prefixPattern.MatchString(o.Prefix):
		return fmt.Errorf("%w: Prefix %q: use 1 to 32 letters, digits and underscores, not a digit first", ErrInvalidOptions, o.Prefix)
	case o.Schema != "" && dialectName != "postgres":
		return fmt.Errorf("%w: Schema %q: only PostgreSQL has schemas here; use Prefix", ErrInvalidOptions, o.Schema)
	case o.Schema != "" && !schemaPattern.MatchString(o.Schema):
		return fmt.Errorf("%w: Schema %q: use 1 to 63 letters, digits and underscores, not a digit first", ErrInvalidOptions, o.Schema)
	case o.MaxPayload < 0:
		return fmt.Errorf("%w: MaxPayload %d: must not be negative", ErrInvalidOptions, o.MaxPayload)
	}
	return nil
}
