package conformance

import (
	"context"
	"database/sql"
	"errors"

	"github.com/sqloutbox/sqloutbox/dialect"
	"github.com/sqloutbox/sqloutbox/outbox"
)

func duplicateRules() []rule {
	return []rule{
		{"an id that is taken is refused", duplicateRefused},
		{"an id that is twice in a call is refused", duplicateInCall},
		{"a duplicate is left out where that is asked for, and the transaction stays usable", duplicateIgnored},
		{"leaving duplicates out hides no other fault", duplicateOnly},
		{"the first of two writers of an id wins", duplicateRace},
	}
}

func duplicateRefused(t *env) {
	t.write(events("e", 2)...)
	if _, err := t.tryWrite(t.o, outbox.Event{ID: "new", Topic: "t"}, events("e", 2)[1]); !errors.Is(err, outbox.ErrDuplicate) {
		t.Errorf("got %v, want outbox.ErrDuplicate", err)
	}
	if all := t.records(); len(all) != 2 {
		t.Errorf("events:%s", describe(all))
	}
}

func duplicateInCall(t *env) {
	e := events("e", 1)[0]
	if _, err := t.tryWrite(t.o, e, e); !errors.Is(err, outbox.ErrDuplicate) {
		t.Errorf("got %v, want outbox.ErrDuplicate", err)
	}
	if all := t.records(); len(all) != 0 {
		t.Errorf("events:%s", describe(all))
	}
}

func duplicateIgnored(t *env) {
	o := t.outboxOn(t.db, &outbox.Options{IgnoreDuplicates: true})
	t.write(outbox.Event{ID: "a", Topic: "first"})
	err := o.InTx(t.ctx(), func(ctx context.Context, tx *sql.Tx) error {
		again := outbox.Event{ID: "a", Topic: "again"}
		ids, err := o.Write(ctx, tx, again, outbox.Event{ID: "b", Topic: "t"}, again, outbox.Event{ID: "b", Topic: "again"}, outbox.Event{ID: "c", Topic: "t"})
		if err != nil {
			return err
		}
		equalIDs(t, "answered", ids, []string{"a", "b", "a", "b", "c"})
		if _, err := o.Write(ctx, tx, again); err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, `INSERT INTO conformance_host VALUES (1, 1)`)
		return err
	})
	if err != nil {
		t.Fatalf("the transaction is spoiled: %v", err)
	}
	var got []string
	for _, x := range t.records() {
		got = append(got, x.id+" "+x.topic)
	}
	equalIDs(t, "the table", got, []string{"a first", "b t", "c t"})
	if n := t.number(`SELECT COUNT(*) FROM conformance_host`); n != 1 {
		t.Error("the business change is gone")
	}
}

// The column is NOT NULL on every engine; a lax clause would drop the row in silence, or store something else.
func duplicateOnly(t *env) {
	insert := `INSERT INTO {events} (id, topic, payload) VALUES (?, ?, ?)` + t.dialect().IgnoreDuplicate("id")
	if _, err := t.tryExec(insert, "a", nil, []byte{}); err == nil {
		t.Errorf("an event without a topic is no error:%s", describe(t.records()))
	}
	if _, err := t.tryExec(insert, "a", rep(outbox.MaxTopicLen+1), []byte{}); err == nil {
		t.Errorf("a topic that is too long is no error:%s", describe(t.records()))
	}
	t.exec(insert, "b", "t", []byte{1})
	t.exec(insert, "b", "changed", []byte{2})
	if all := t.records(); len(all) != 1 || all[0].topic != "t" {
		t.Errorf("events:%s", describe(all))
	}
	// An id that is taken is left out; a seq that is taken is another fault. An engine that can't tell them apart must
	// never come to a seq that is taken: its numbering moves past every row that is inserted.
	seq := t.records()[0].seq
	const numbered = `INSERT INTO {events} (seq, id, topic, payload) VALUES (?, ?, ?, ?)`
	switch _, err := t.tryExec(numbered+t.dialect().IgnoreDuplicate("id"), seq, "c", "t", []byte{}); {
	case t.dialect().Classify(err) == dialect.KeyTaken:
	case err != nil:
		t.Errorf("a seq that is taken: got %v, want a taken key", err)
	default:
		t.exec(numbered, seq+1000, "d", "t", []byte{})
		t.exec(insert, "e", "t", []byte{})
		if got := t.record("e").seq; got <= seq+1000 {
			t.Errorf("a seq that is taken is left out like an id that is, and the engine gives seq %d after %d", got, seq+1000)
		}
	}
}

func duplicateRace(t *env) {
	errs := make(chan error, 8)
	t.together(8, func(_ int, o *outbox.Outbox) error {
		_, err := t.tryWrite(o, outbox.Event{ID: "same", Topic: "t"})
		errs <- err
		return nil
	})
	won := 0
	for range 8 {
		switch err := <-errs; {
		case err == nil:
			won++
		case errors.Is(err, outbox.ErrDuplicate), t.dialect().Classify(err) == dialect.Conflict:
		default:
			t.Error(err)
		}
	}
	if won != 1 || len(t.records()) != 1 {
		t.Errorf("%d writers won, and %d events are there", won, len(t.records()))
	}
}
