package main

import (
	"bytes"
	"context"
	"database/sql"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// good is evidence without a fault: four transactions, one of them rolled back, and one delivery that came twice.
func good() evidence {
	start := time.Now()
	return evidence{
		rows:       []string{"3", "1", "2"},
		events:     []string{"1", "2", "3"},
		rolledBack: []string{"4"},
		deliveries: []delivery{
			{"1", "a", start}, {"2", "a", start.Add(1)}, {"1", "b", start.Add(3)}, {"2", "b", start.Add(4)}, {"3", "b", start.Add(5)},
		},
		killed:   "a",
		killedAt: start.Add(2),
	}
}

func TestTheReportFindsEachFault(t *testing.T) {
	for _, c := range []struct {
		name  string
		spoil func(e *evidence)
		count func(r *report) int
		want  string // in the printed report
	}{
		{"lost", func(e *evidence) { e.deliveries = e.deliveries[:4] }, func(r *report) int { return r.lost }, "lost              1 "},
		{"invented: rolled back", func(e *evidence) { e.deliveries[4].id = "4"; e.rows = e.rows[1:]; e.events = e.events[:2] }, func(r *report) int { return r.invented }, "invented          1 "},
		{"invented: unknown", func(e *evidence) { e.deliveries = append(e.deliveries, delivery{id: "9"}) }, func(r *report) int { return r.invented }, "invented          1 "},
		{"out of order", func(e *evidence) { e.deliveries[0].id = "2"; e.deliveries[1].id = "1" }, func(r *report) int { return r.outOfOrder }, "order        BROKEN "},
		{"row of a rollback", func(e *evidence) { e.rows = append(e.rows, "4") }, func(r *report) int { return r.traces }, "1 of them left a trace"},
		{"event of a rollback", func(e *evidence) { e.events = append(e.events, "4") }, func(r *report) int { return r.traces }, "1 of them left a trace"},
		{"event without a row", func(e *evidence) { e.events = append(e.events, "5") }, func(r *report) int { return r.halves }, "half changes      1 "},
		{"row without an event", func(e *evidence) { e.events = e.events[:2] }, func(r *report) int { return r.halves }, "half changes      1 "},
		{"dead letter", func(e *evidence) { e.dead = []string{"3"} }, func(r *report) int { return r.dead }, "dead letters      1 "},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := good()
			if r := judge(e); !r.ok() || c.count(r) != 0 {
				t.Fatalf("good evidence is not ok: %+v", r)
			}
			c.spoil(&e)
			r := judge(e)
			if r.ok() || c.count(r) != 1 {
				t.Errorf("not found: %+v", r)
			}
			var out bytes.Buffer
			r.print(&out)
			if !strings.Contains(out.String(), c.want) {
				t.Errorf("the report lacks %q:\n%s", c.want, out.String())
			}
		})
	}
}

func TestTheReportCounts(t *testing.T) {
	r := judge(good())
	if r.committed != 3 || r.rolledBack != 1 || r.received != 3 || r.duplicates != 2 || r.takeOver != 1 {
		t.Errorf("%+v", r)
	}
}

// The same through a database and the receiver: an event that is deleted before a relay saw it is lost, and found out.
func TestAnEventThatVanishesFromTheDatabaseIsFoundOut(t *testing.T) {
	p, err := openPlace(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := p.remove(t.Context()); err != nil {
			t.Error(err)
		}
	}()
	events, err := loadEvents("", nil, 8)
	if err != nil {
		t.Fatal(err)
	}
	w := &writer{o: p.o, d: p.d, table: p.table}
	rolledBack, err := w.writeAll(t.Context(), events, 8, func(int) {})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.o.InTx(t.Context(), func(_ context.Context, tx *sql.Tx) error {
		_, err := tx.Exec("DELETE FROM " + p.o.Table("events") + " WHERE id = 'activity-000003'")
		return err
	}); err != nil {
		t.Fatal(err)
	}
	e := evidence{rolledBack: rolledBack}
	if err := p.look(t.Context(), &e); err != nil {
		t.Fatal(err)
	}
	r := newReceiver(0, nil)
	for _, id := range e.events { // what a relay would send
		req := httptest.NewRequest(http.MethodPost, "/", strings.NewReader("{}"))
		req.Header.Set("X-Event-ID", id)
		r.ServeHTTP(httptest.NewRecorder(), req)
	}
	e.deliveries = r.all()
	if got := judge(e); got.ok() || got.committed != 7 || got.received != 6 || got.lost != 1 || got.rolledBack != 1 {
		t.Errorf("%+v", got)
	}
}
