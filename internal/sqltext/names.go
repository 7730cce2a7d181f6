package sqltext

import (
	"fmt"
	"regexp"
)

// DefaultPrefix begins the tables' names unless the host chooses another.
const DefaultPrefix = "outbox_"

// PostgreSQL keeps 63 bytes of a name; a prefix leaves room for what comes after it. Names stand unquoted: of capitals it
// makes lower case, and so "Billing" would be another schema than the one that somebody has made by that name in quotes.
var (
	prefixPattern = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,31}$`)
	schemaPattern = regexp.MustCompile(`^[a-z_][a-z0-9_]{0,62}$`)
)

// CheckNames refuses what must not stand in a statement. The error wraps invalid and names the option; schema may be "".
func CheckNames(invalid error, dialectName, schema, prefix string) error {
	switch {
	case !prefixPattern.MatchString(prefix):
		return fmt.Errorf("%w: Prefix %q: use 1 to 32 letters, digits and underscores, not a digit first", invalid, prefix)
	case schema != "" && dialectName != "postgres":
		return fmt.Errorf("%w: Schema %q: only PostgreSQL has schemas here; use Prefix", invalid, schema)
	case schema != "" && !schemaPattern.MatchString(schema):
		return fmt.Errorf("%w: Schema %q: use 1 to 63 lower-case letters, digits and underscores, not a digit first", invalid, schema)
	case isReserved(schema):
		return fmt.Errorf("%w: Schema %q: it is a reserved word, and names stand unquoted in SQL: use another", invalid, schema)
	}
	return nil
}
