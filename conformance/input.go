package conformance

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/sqloutbox/sqloutbox/outbox"
)

func inputRules() []rule {
	return []rule{
		{"input within the limits is taken as it is", inputTaken},
		{"input beyond the limits is refused, and the transaction stays usable", inputRefused},
	}
}

// rep is a text of n bytes.
func rep(n int) string { return strings.Repeat("x", n) }

func inputTaken(t *env) {
	want := map[string]outbox.Event{}
	for name, e := range map[string]outbox.Event{
		"the longest id":             {ID: rep(outbox.MaxIDLen), Topic: "t"},
		"the longest id of runes":    {ID: strings.Repeat("é", outbox.MaxIDLen/2), Topic: "t"},
		"the longest topic":          {Topic: rep(outbox.MaxTopicLen)},
		"the longest topic of runes": {Topic: strings.Repeat("𝄞", outbox.MaxTopicLen/4)},
		"the longest key":            {Topic: "t", Key: rep(outbox.MaxKeyLen)},
		"the largest payload":        {Topic: "t", Payload: []byte(rep(outbox.DefaultMaxPayload))},
		"four bytes, BOM and RTL":    {ID: "\U0001F600\uFEFF\u202E", Topic: "\uFEFF", Key: "\u202Ek"},
		"quotes and placeholders":    {ID: `'"\?$1%s`, Topic: `?'`, Key: "`;--"},
		"spaces alone":               {ID: "  ", Topic: " ", Key: "\t\n"},
		"the longest headers":        {Topic: "t", Headers: map[string]string{"a": rep(outbox.MaxHeadersLen - len(`{"a":""}`))}},
		"odd headers":                {Topic: "t", Headers: map[string]string{"ü": "", `"`: "<&>\u2028"}},
		"the longest delay":          {Topic: "t", Delay: outbox.MaxDelay},
	} {
		ids, err := t.tryWrite(t.o, e)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		e.ID = ids[0]
		want[e.ID] = e
	}
	p := &receiver{}
	r := t.relay(p, nil)
	if n := t.drain(r); n != len(want)-1 {
		t.Errorf("%d were published, want all %d but the delayed one", n, len(want))
	}
	for _, m := range p.messages() {
		if want[m.ID].Delay > 0 {
			t.Error("the delayed one was published")
		}
	}
	if n := t.number(`SELECT COUNT(*) FROM {events} WHERE due_ms BETWEEN {clock} + ? AND {clock} + ?`, (outbox.MaxDelay - time.Hour).Milliseconds(), outbox.MaxDelay.Milliseconds()); n != 1 {
		t.Errorf("%d are due in ten years, want 1:%s", n, describe(t.records()))
	}
	t.makeDue()
	t.drain(r)
	sameIDs(t, "handed over", p.ids(), slices.Collect(maps.Keys(want)))
	for _, m := range p.messages() {
		e := want[m.ID]
		if m.Topic != e.Topic || m.Key != e.Key || !bytes.Equal(m.Payload, e.Payload) || !maps.Equal(m.Headers, e.Headers) || m.Delay != 0 {
			t.Errorf("%.300v came out as %.300v", e, m.Event)
		}
	}
}

func inputRefused(t *env) {
	good := outbox.Event{ID: "good", Topic: "t"}
	for _, test := range []struct {
		name, field string
		e           outbox.Event
	}{
		{"an empty topic", "Topic", outbox.Event{ID: "x"}},
		{"a long topic", "Topic", outbox.Event{Topic: rep(outbox.MaxTopicLen + 1)}},
		{"a topic that is long in bytes alone", "Topic", outbox.Event{Topic: strings.Repeat("é", outbox.MaxTopicLen/2+1)}},
		{"NUL in a topic", "Topic", outbox.Event{Topic: "a\x00b"}},
		{"broken UTF-8 in a topic", "Topic", outbox.Event{Topic: "\xc3\x28"}},
		{"a long id", "ID", outbox.Event{ID: rep(outbox.MaxIDLen + 1), Topic: "t"}},
		{"NUL in an id", "ID", outbox.Event{ID: "\x00", Topic: "t"}},
		{"a surrogate in an id", "ID", outbox.Event{ID: "\xed\xa0\x80", Topic: "t"}},
		{"a long key", "Key", outbox.Event{Topic: "t", Key: rep(outbox.MaxKeyLen + 1)}},
		{"NUL in a key", "Key", outbox.Event{Topic: "t", Key: "k\x00"}},
		{"broken UTF-8 in a key", "Key", outbox.Event{Topic: "t", Key: "k\xff"}},
		{"a payload that is a byte too large", "Payload", outbox.Event{Topic: "t", Payload: []byte(rep(outbox.DefaultMaxPayload + 1))}},
		{"a header without a name", "Headers", outbox.Event{Topic: "t", Headers: map[string]string{"": "x"}}},
		{"NUL in a header", "Headers", outbox.Event{Topic: "t", Headers: map[string]string{"a": "\x00"}}},
		{"broken UTF-8 in a header's name", "Headers", outbox.Event{Topic: "t", Headers: map[string]string{"\xff": "x"}}},
		{"headers that are a byte too long", "Headers", outbox.Event{Topic: "t", Headers: map[string]string{"a": rep(outbox.MaxHeadersLen - len(`{"a":""}`) + 1)}}},
		{"a negative delay", "Delay", outbox.Event{Topic: "t", Delay: -1}},
		{"a delay without end", "Delay", outbox.Event{Topic: "t", Delay: outbox.MaxDelay + time.Millisecond}},
	} {
		// The bad one comes last of three: nothing of the call may be written.
		err := t.o.InTx(t.ctx(), func(ctx context.Context, tx *sql.Tx) error {
			_, err := t.o.Write(ctx, tx, outbox.Event{ID: "before", Topic: "t"}, outbox.Event{Topic: "t"}, test.e)
			var bad *outbox.InvalidEventError
			if !errors.As(err, &bad) || !errors.Is(err, outbox.ErrInvalidEvent) || bad.Index != 2 || bad.Field != test.field {
				t.Errorf("%s: got %v, want an InvalidEventError for event 2, %s", test.name, err, test.field)
			}
			_, err = t.o.Write(ctx, tx, good)
			return err
		})
		if err != nil {
			t.Errorf("%s: the transaction was spoiled: %v", test.name, err)
		}
		if all := t.records(); len(all) != 1 || all[0].id != "good" {
			t.Errorf("%s: events:%s", test.name, describe(all))
		}
		t.exec(`DELETE FROM {events}`)
	}
}
