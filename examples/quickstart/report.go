package main

import (
	"fmt"
	"io"
	"slices"
	"time"
)

// evidence is what is known at the end: three lists from the database and one each from the writer and the receiver.
type evidence struct {
	rows       []string   // ids of the business rows that are in the database
	events     []string   // ids of the events that are in the outbox, in insertion order
	dead       []string   // ids of the dead letters among them
	rolledBack []string   // ids whose transaction the writer rolled back
	deliveries []delivery // what the receiver got, in order of arrival
	killed     string     // the relay that was killed, and when
	killedAt   time.Time
}

// report is what follows from the evidence.
type report struct {
	committed  int // business rows
	rolledBack int
	traces     int // ids that were rolled back and yet are in the database, as a row or as an event
	halves     int // business rows without an event, or the other way round
	received   int // different events
	duplicates int // deliveries of an event that had been received before
	lost       int // committed and not received
	invented   int // received and not committed
	dead       int // given up by a relay
	outOfOrder int // first deliveries that came after one that was inserted later

	byRelay  []relayShare
	killed   string
	takeOver time.Duration // from the kill to the first delivery by another relay; 0: there was none
}

type relayShare struct {
	name       string
	deliveries int
}

// judge compares. It believes the database about what was committed, and the receiver about what was received.
func judge(e evidence) *report {
	rows, events := setOf(e.rows), setOf(e.events)
	r := &report{committed: len(rows), rolledBack: len(e.rolledBack), dead: len(e.dead), killed: e.killed}
	for _, id := range e.rolledBack {
		if rows[id] || events[id] {
			r.traces++
		}
	}
	received := make(map[string]bool)
	place := make(map[string]int, len(e.events))
	for i, id := range e.events {
		place[id] = i
	}
	furthest := -1
	for _, d := range e.deliveries {
		if received[d.id] {
			r.duplicates++
			continue
		}
		received[d.id] = true
		if at, known := place[d.id]; known {
			if at < furthest {
				r.outOfOrder++
			}
			furthest = max(furthest, at)
		}
	}
	r.received = len(received)
	r.lost = missing(rows, received)
	r.invented = missing(received, rows)
	r.halves = missing(rows, events) + missing(events, rows)
	r.byRelay, r.takeOver = shares(e), takeOver(e)
	return r
}

func setOf(ids []string) map[string]bool {
	set := make(map[string]bool, len(ids))
	for _, id := range ids {
		set[id] = true
	}
	return set
}

// missing is how many of want are not in have.
func missing(want, have map[string]bool) int {
	n := 0
	for id := range want {
		if !have[id] {
			n++
		}
	}
	return n
}

func shares(e evidence) []relayShare {
	var list []relayShare
	for _, d := range e.deliveries {
		i := slices.IndexFunc(list, func(s relayShare) bool { return s.name == d.relay })
		if i < 0 {
			i, list = len(list), append(list, relayShare{name: d.relay})
		}
		list[i].deliveries++
	}
	return list
}

func takeOver(e evidence) time.Duration {
	for _, d := range e.deliveries {
		if e.killed != "" && d.relay != e.killed && d.at.After(e.killedAt) {
			return d.at.Sub(e.killedAt)
		}
	}
	return 0
}

func (r *report) ok() bool {
	return r.lost == 0 && r.invented == 0 && r.outOfOrder == 0 && r.traces == 0 && r.halves == 0 && r.dead == 0
}

func (r *report) print(w io.Writer) {
	line := func(name string, n int, format string, args ...any) {
		fmt.Fprintf(w, "%-12s %6d   %s\n", name, n, fmt.Sprintf(format, args...))
	}
	line("committed", r.committed, "transactions, each with a business row and its event")
	line("rolled back", r.rolledBack, "on purpose; %d of them left a trace in the database", r.traces)
	line("received", r.received, "different events%s", r.senders())
	line("duplicates", r.duplicates, "handed over again, since their outcome wasn't recorded before the kill")
	line("lost", r.lost, "committed, but never received")
	line("invented", r.invented, "received, but never committed")
	if r.halves > 0 {
		line("half changes", r.halves, "a row without its event, or an event without its row")
	}
	if r.dead > 0 {
		line("dead letters", r.dead, "given up by a relay")
	}
	switch {
	case r.outOfOrder > 0:
		fmt.Fprintf(w, "order        BROKEN   %d first deliveries came after one that was inserted later\n", r.outOfOrder)
	case r.received == 0:
		fmt.Fprintln(w, "order             -   nothing was received")
	default:
		fmt.Fprintln(w, "order          kept   each event was received first in its place by insertion")
	}
	switch {
	case r.killed == "":
		fmt.Fprintln(w, "take-over         -   no relay was killed: half-way was never reached")
	case r.takeOver == 0:
		fmt.Fprintf(w, "take-over         -   %s was killed, and nobody took its work over\n", r.killed)
	default:
		fmt.Fprintf(w, "take-over    %5.2fs   from the kill of %s to the next delivery\n", r.takeOver.Seconds(), r.killed)
	}
}

func (r *report) senders() string {
	text := ""
	for i, s := range r.byRelay {
		sep := ", "
		if i == 0 {
			sep = "; deliveries by "
		}
		text += fmt.Sprintf("%s%s: %d", sep, s.name, s.deliveries)
	}
	return text
}
