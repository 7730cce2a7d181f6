package migrations

import (
	"fmt"
	"strings"

	"github.com/sqloutbox/sqloutbox/dialect"
)

// SQL is every statement that Up would run on an empty database, in order, for other migration tools. The statements
// can be run again. There is no version table among them: Check then compares tables, columns and indexes alone. A
// PostgreSQL schema that Options name must exist. See FS for the files, which have the way back in them too.
// For a dialect whose Name is not that of a folder there are none, and that is an error.
func SQL(d dialect.Dialect, opts *Options) ([]string, error) {
	if d == nil {
		return nil, fmt.Errorf("sql: %w: the dialect must not be nil", ErrInvalidOptions)
	}
	o := opts.withDefaults()
	if err := o.validate(d.Name()); err != nil {
		return nil, fmt.Errorf("sql: %w", err)
	}
	f, err := filesOf(d.Name(), names{prefix: o.Prefix, schema: o.Schema})
	if err != nil {
		return nil, fmt.Errorf("sql: %w", err)
	}
	var statements []string
	for _, m := range f.list {
		text, err := f.ReadFile(m.name)
		if err != nil {
			return nil, fmt.Errorf("sql: %w", err)
		}
		statements = append(statements, upStatement(string(text)))
	}
	return statements, nil
}

// upStatement is the one statement between the Up and the Down mark, without comments and the semicolon.
func upStatement(text string) string {
	_, text, _ = strings.Cut(text, "-- +goose Up\n")
	text, _, _ = strings.Cut(text, "-- +goose Down")
	var lines []string
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "--") {
			lines = append(lines, line)
		}
	}
	return strings.TrimSuffix(strings.TrimSpace(strings.Join(lines, "")), ";")
}
