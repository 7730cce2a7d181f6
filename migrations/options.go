package migrations

import (
	"fmt"
	"regexp"
)

// Options name the tables. Nil and zero fields mean the defaults; bad values are refused. Use the same as for the
// Outbox.
type Options struct {
	// Prefix begins the name of every table and index; default "outbox_". Letters, digits and underscores, not a digit
	// first, at most 32 bytes, so that no name gets longer than the 63 that PostgreSQL keeps.
	Prefix string
	// Schema is the PostgreSQL schema for the tables; default: the search path decides. Refused elsewhere.
	Schema string
}

const defaultPrefix = "outbox_"

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
		out.Prefix = defaultPrefix
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
	}
	return nil
}
