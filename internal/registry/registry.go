// Package registry tells handlers' names apart. A handler is known to the database under the name it was first announced
// with, for good, and its records stand under that. A name that it is given later is a row of its own, which says what it
// was called before: so releases with different names of one handler run side by side, and mean the same records.
package registry

import (
	"context"
	"database/sql"

	"github.com/sqloutbox/sqloutbox/internal/rows"
	"github.com/sqloutbox/sqloutbox/internal/sqltext"
)

// ReadNames reads all of a handful of rows.
const ReadNames = `SELECT name, former_name FROM {handlers} ORDER BY since_ms, name`

// Names are all names of handlers.
type Names struct {
	former map[string]string // by name; empty: its first
	order  []string          // the oldest first
}

// Read reads the names that the database knows.
func Read(ctx context.Context, q rows.Queryer, text *sqltext.Renderer) (Names, error) {
	var n Names
	err := rows.Each(ctx, q, text.SQL(ReadNames), nil, func(row *sql.Rows) error {
		var name, former string
		err := row.Scan(&name, &former)
		n.Add(name, former)
		return err
	})
	return n, err
}

// Add adds a row, the oldest first.
func (n *Names) Add(name, former string) {
	if n.former == nil {
		n.former = make(map[string]string)
	}
	n.former[name] = former
	n.order = append(n.order, name)
}

// First is the name that a handler was first announced with; false if the database does not know the name.
func (n Names) First(name string) (first string, known bool) {
	for range len(n.order) + 1 { // rows of a plain-SQL writer may go in circles
		former, ok := n.former[name]
		if !ok {
			return "", false
		}
		if former == "" {
			return name, true
		}
		name = former
	}
	return "", false
}

// Newest is the last name that a handler was given, and the one before, if it has had others.
func (n Names) Newest(first string) (name, former string) {
	name = first
	for _, other := range n.order {
		if f, _ := n.First(other); f == first && other != first {
			name = other
		}
	}
	return name, n.former[name]
}
