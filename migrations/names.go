package migrations

import (
	"regexp"
	"strings"

	"github.com/sqloutbox/sqloutbox/internal/sqltext"
)

// names puts a prefix and a schema into the files' text, which is written for the default names.
type names struct{ prefix, schema string }

// table is the full name of a table, as SQL takes it.
func (n names) table(name string) string {
	if n.schema == "" {
		return n.prefix + name
	}
	return n.schema + "." + n.prefix + name
}

// index is the name of an index, which lives in its table's schema and can't be qualified where it is made.
func (n names) index(name string) string { return n.prefix + name }

var (
	// qualified are the places where a name may carry its schema. After CREATE INDEX it may not.
	qualified = regexp.MustCompile(`\b((?:TABLE|DROP INDEX)(?: IF(?: NOT)? EXISTS)?|ON|FROM|INTO|UPDATE|REFERENCES) outbox_`)
	anyName   = regexp.MustCompile(`\boutbox_`)
)

// schemaMark stands for the schema until the prefix is in: a schema's name may begin like a table's.
const schemaMark = "{schema}"

// rewrite is text for the default names with these names in it.
func (n names) rewrite(text string) string {
	if n.schema != "" {
		text = qualified.ReplaceAllString(text, "${1} "+schemaMark+".outbox_")
	}
	if n.prefix != sqltext.DefaultPrefix {
		text = anyName.ReplaceAllLiteralString(text, n.prefix)
	}
	return strings.ReplaceAll(text, schemaMark, n.schema)
}
