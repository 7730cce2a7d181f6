// Package sqltext turns the module's shared statements into an engine's own text.
//
// A statement stands once, as a constant with "?" placeholders and names in braces: {events}, {leases}, {relays}, {held},
// {pauses}, {counters}, {inbox}, {handlers}, {deliveries}, {feed}, {cursors}, {subscriptions}, {webhook_deliveries} for the
// tables; {clock}, {lock}, {lock_skip}, {use_pending}, {use_due}, {use_received}, {ignore_id}, {ignore_name}, {ignore_seq},
// {ignore_topic}, {count_message}, {in_tx}, {in_tx_clock}, {use_key}, {update_events}, {delete_events}, {delete_inbox},
// {update_deliveries}, {delete_deliveries}, {delete_feed}, {use_webhooks_due}, {use_webhooks_order}, {update_webhooks},
// {delete_webhooks} for what the dialect gives; {list}, {beside}, {aside} or {rows} where a list whose length is known only
// at run time goes.
package sqltext

import (
	"strings"
	"sync"

	"github.com/sqloutbox/sqloutbox/dialect"
)

// tables are the tables of this module, without prefix.
var tables = [...]string{"events", "leases", "relays", "held", "pauses", "counters", "inbox", "handlers", "deliveries", "feed", "cursors",
	"subscriptions", "webhook_deliveries"}

// Renderer fills in statements for one dialect and one set of table names. Any number of goroutines may use it.
type Renderer struct {
	d        dialect.Dialect
	replacer *strings.Replacer
	qualify  string
	ranges   bool // rows that follow each other are changed as a range

	mu    sync.RWMutex // guards what is below
	texts map[source]string
	bytes int // held by texts
}

// source is what a text is made from: a statement, whose mark becomes n times item.
type source struct {
	statement, mark, item string
	n                     int
	list                  int // placeholders for {list}, where that is not the mark
}

// keyHint is what UpdateByKey says behind the table's name. A SELECT that locks needs it as much.
func keyHint(d dialect.Dialect, table string) string {
	hint, ok := strings.CutPrefix(d.UpdateByKey(table), "UPDATE "+table)
	if !ok {
		return ""
	}
	return hint
}

// guard is a value that an INSERT has inside of a transaction alone, where the dialect knows how.
func guard(d dialect.Dialect, value string) string {
	if g, ok := d.(dialect.TxGuard); ok {
		return g.Guard(value)
	}
	return value
}

// maxBytes is how much a Renderer holds. A relay and an outbox ask for some hundred texts, of some 100 kB together; more
// come only from lists of many lengths.
const maxBytes = 1 << 20

// New makes a Renderer for tables called [schema.]prefix + name. Schema and prefix must have been validated.
func New(d dialect.Dialect, schema, prefix string) *Renderer {
	k, ok := d.(dialect.KeyRanges)
	r := &Renderer{d: d, qualify: prefix, texts: make(map[source]string), ranges: ok && k.ChangesRangesAlone()}
	if schema != "" {
		r.qualify = schema + "." + prefix
	}
	pairs := []string{
		"{clock}", d.Clock(),
		"{lock}", d.Lock(),
		"{lock_skip}", d.LockSkip(),
		"{ignore_id}", d.IgnoreDuplicate("id"),
		"{ignore_name}", d.IgnoreDuplicate("name"),
		"{ignore_seq}", d.IgnoreDuplicate("seq"),
		"{ignore_topic}", d.IgnoreDuplicate("topic"),
		"{count_message}", d.CountFirst("message_id, consumer", "version"),
		"{in_tx}", guard(d, "?"),
		"{in_tx_clock}", guard(d, d.Clock()),
		"{use_pending}", d.IndexHint(prefix + "events_pending"),
		"{use_due}", d.IndexHint(prefix + "events_due"),
		"{use_received}", d.IndexHint(prefix + "inbox_received"),
		"{use_key}", keyHint(d, r.Table("events")),
		"{update_events}", d.UpdateByKey(r.Table("events")),
		"{delete_events}", d.DeleteByKey(r.Table("events")),
		"{delete_inbox}", d.DeleteByKey(r.Table("inbox")),
		"{update_deliveries}", d.UpdateByKey(r.Table("deliveries")),
		"{delete_deliveries}", d.DeleteByKey(r.Table("deliveries")),
		"{delete_feed}", d.DeleteByKey(r.Table("feed")),
		"{use_webhooks_due}", d.IndexHint(prefix + "webhook_deliveries_due"),
		"{use_webhooks_order}", d.IndexHint(prefix + "webhook_deliveries_order"),
		"{update_webhooks}", d.UpdateByKey(r.Table("webhook_deliveries")),
		"{delete_webhooks}", d.DeleteByKey(r.Table("webhook_deliveries")),
	}
	for _, t := range tables {
		pairs = append(pairs, "{"+t+"}", r.Table(t))
	}
	r.replacer = strings.NewReplacer(pairs...)
	return r
}

// Table is the full name of a table of this module, such as "events".
func (r *Renderer) Table(name string) string { return r.qualify + name }

// SQL is the statement in the engine's own text.
func (r *Renderer) SQL(statement string) string { return r.text(source{statement: statement}) }

// List is SQL with {list} as n placeholders.
func (r *Renderer) List(statement string, n int) string {
	return r.text(source{statement, "{list}", "?", n, 0})
}

// Lists is SQL with {list} as n placeholders, and {beside} as m wherever it stands.
func (r *Renderer) Lists(statement string, n, m int) string {
	return r.text(source{statement, "{beside}", "?", m, n})
}

// Rows is SQL with {rows} as n copies of row, which may hold names in braces itself.
func (r *Renderer) Rows(statement, row string, n int) string {
	return r.text(source{statement, "{rows}", row, n, 0})
}

// text fills in a source once, and then remembers it. When the memory is full it starts anew.
func (r *Renderer) text(from source) string {
	r.mu.RLock()
	text, ok := r.texts[from]
	r.mu.RUnlock()
	if ok {
		return text
	}
	text = r.fill(from)
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ok := r.texts[from]; ok {
		return text // another goroutine was faster
	}
	if r.bytes += len(from.statement) + len(text); r.bytes > maxBytes {
		clear(r.texts)
		r.bytes = len(from.statement) + len(text)
	}
	r.texts[from] = text
	return text
}

func (r *Renderer) fill(from source) string {
	statement := from.statement
	if from.mark != "" {
		statement = strings.ReplaceAll(statement, from.mark, times(from.item, from.n))
	}
	if from.list > 0 {
		statement = strings.Replace(statement, "{list}", times("?", from.list), 1)
	}
	return r.d.Bind(r.replacer.Replace(statement))
}

func times(item string, n int) string { return strings.Repeat(", "+item, n)[2:] }
