package migrations

import "github.com/sqloutbox/sqloutbox/internal/sqltext"

// Options name the tables. Nil and zero fields mean the defaults; bad values are refused. Use the same as for the
// Outbox.
type Options struct {
	// Prefix begins the name of every table and index; default "outbox_". Letters, digits and underscores, not a digit
	// first, at most 32 bytes, so that no name gets longer than the 63 that PostgreSQL keeps.
	Prefix string
	// Schema is the PostgreSQL schema for the tables; default: the search path decides. Lower-case letters, digits and
	// underscores, not a digit first, at most 63 bytes, and no reserved word. Refused elsewhere.
	Schema string
}

func (o *Options) withDefaults() Options {
	var out Options
	if o != nil {
		out = *o
	}
	if out.Prefix == "" {
		out.Prefix = sqltext.DefaultPrefix
	}
	return out
}

func (o *Options) validate(dialectName string) error {
	return sqltext.CheckNames(ErrInvalidOptions, dialectName, o.Schema, o.Prefix)
}
