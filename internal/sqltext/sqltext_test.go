package sqltext_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/sqloutbox/sqloutbox/dialect/postgres"
	"github.com/sqloutbox/sqloutbox/internal/sqltext"
)

const (
	update = `{update_events} SET due_ms = {clock} + ?, claimed_by = '' WHERE seq IN ({list}) AND state = 0`
	insert = `INSERT INTO {events} (id, payload) VALUES {rows}`
	row    = `(?, {clock} + ?)`
)

func newRenderer() *sqltext.Renderer { return sqltext.New(postgres.New(), "s", "p_") }

// A text must not depend on what was asked for before it.
func TestTextsAreTheSameHoweverOftenTheyAreAskedFor(t *testing.T) {
	r := newRenderer()
	var callers sync.WaitGroup
	for range 4 {
		callers.Go(func() {
			for n := 1; n < 250; n++ {
				check(t, r, n)
				check(t, r, 1)
			}
		})
	}
	callers.Wait()
}

func check(t *testing.T, r *sqltext.Renderer, n int) {
	t.Helper()
	const clock = "((EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT)"
	list, rows := make([]string, n), make([]string, n)
	for i := range n {
		list[i] = fmt.Sprintf("$%d", i+2)
		rows[i] = fmt.Sprintf("($%d, %s + $%d)", 2*i+1, clock, 2*i+2)
	}
	want := "UPDATE s.p_events SET due_ms = " + clock + " + $1, claimed_by = '' WHERE seq IN (" + strings.Join(list, ", ") + ") AND state = 0"
	if got := r.List(update, n); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	want = "INSERT INTO s.p_events (id, payload) VALUES " + strings.Join(rows, ", ")
	if got := r.Rows(insert, row, n); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got, want := r.SQL("SELECT {clock} + ?"), "SELECT "+clock+" + $1"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func BenchmarkTexts(b *testing.B) {
	r := newRenderer()
	for name, text := range map[string]func() string{
		"SQL":     func() string { return r.SQL("SELECT owner, token, {clock} FROM {leases} WHERE name = ?{lock}") },
		"List128": func() string { return r.List(update, 128) },
		"Rows100": func() string { return r.Rows(insert, row, 100) },
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_ = text()
			}
		})
	}
}
