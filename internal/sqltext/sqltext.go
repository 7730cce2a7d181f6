// Package sqltext turns the module's shared statements into an engine's own text.
//
// A statement stands once, as a constant with "?" placeholders and names in braces: {events}, {leases}, {relays} for
// the tables, {clock}, {lock}, {lock_skip}, {use_pending}, {use_due}, {ignore_id}, {update_events},
// {delete_events} for what the dialect gives, and
// {list} or {rows} where a list whose length is known only at run time goes.
package sqltext

import (
	"strings"

	"github.com/sqloutbox/sqloutbox/dialect"
)

// Tables are the tables of this module, without prefix.
var tables = [...]string{"events", "leases", "relays"}

// Renderer fills in statements for one dialect and one set of table names. It is immutable.
type Renderer struct {
	d        dialect.Dialect
	replacer *strings.Replacer
	qualify  string
}

// New makes a Renderer for tables called [schema.]prefix + name. Schema and prefix must have been validated.
func New(d dialect.Dialect, schema, prefix string) *Renderer {
	r := &Renderer{d: d, qualify: prefix}
	if schema != "" {
		r.qualify = schema + "." + prefix
	}
	pairs := []string{
		"{clock}", d.Clock(),
		"{lock}", d.Lock(),
		"{lock_skip}", d.LockSkip(),
		"{ignore_id}", d.IgnoreDuplicate("id"),
		"{ignore_name}", d.IgnoreDuplicate("name"),
		"{use_pending}", d.IndexHint(prefix + "events_pending"),
		"{use_due}", d.IndexHint(prefix + "events_due"),
	}
	pairs = append(pairs, "{update_events}", d.UpdateByKey(r.Table("events")), "{delete_events}", d.DeleteByKey(r.Table("events")))
	for _, t := range tables {
		pairs = append(pairs, "{"+t+"}", r.Table(t))
	}
	r.replacer = strings.NewReplacer(pairs...)
	return r
}

// Table is the full name of a table of this module, such as "events".
func (r *Renderer) Table(name string) string { return r.qualify + name }

// SQL is the statement in the engine's own text.
func (r *Renderer) SQL(statement string) string {
	return r.d.Bind(r.replacer.Replace(statement))
}

// List is SQL with {list} as n placeholders.
func (r *Renderer) List(statement string, n int) string {
	list := strings.Repeat(", ?", n)[2:]
	return r.SQL(strings.Replace(statement, "{list}", list, 1))
}

// Rows is SQL with {rows} as n copies of row, which may hold names in braces itself.
func (r *Renderer) Rows(statement, row string, n int) string {
	rows := strings.Repeat(", "+row, n)[2:]
	return r.SQL(strings.Replace(statement, "{rows}", rows, 1))
}
