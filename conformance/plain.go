package conformance

import (
	"github.com/sqloutbox/sqloutbox/relay"
)

// Writers in other languages insert id, topic and payload; the columns' defaults do the rest.
const plainInsert = `INSERT INTO {events} (id, topic, payload) VALUES (?, ?, ?)`

func plainRules() []rule {
	return append([]rule{
		{"a plain INSERT of topic and payload needs an id", plainNeedsID},
		{"a plain INSERT may set due_ms alone", plainDue},
		{"a plain INSERT of a time that is no whole number is refused, or rounded", plainFraction},
		{"a plain INSERT can't leave out what is required", plainRequired},
	}, inEach("a plain INSERT of id, topic and payload is an event", plainIsEvent)...)
}

func plainIsEvent(t *env, order relay.Order) {
	t.write(events("before", 1)...)
	t.exec(plainInsert, "plain", "t", []byte{0, 1})
	t.write(events("after", 1)...)
	p := &receiver{}
	opts := quick(order)
	if order != relay.OrderTotal {
		opts.Concurrency = 1
	}
	if n := t.drain(t.relay(p, opts)); n != 3 {
		t.Errorf("%d events were published, want 3", n)
	}
	equalIDs(t, "handed over", p.ids(), []string{"before-0", "plain", "after-0"})
	for _, m := range p.of("plain") {
		if m.Topic != "t" || m.Key != "" || len(m.Headers) != 0 || string(m.Payload) != "\x00\x01" || m.Attempt != 1 {
			t.Errorf("it came out as %+v", m)
		}
	}
}

func plainNeedsID(t *env) {
	if _, err := t.tryExec(`INSERT INTO {events} (topic, payload) VALUES (?, ?)`, "t", []byte{}); err == nil {
		t.Errorf("an event without an id:%s", describe(t.records()))
	}
}

func plainRequired(t *env) {
	for name, args := range map[string][]any{
		"no id":          {nil, "t", []byte{}},
		"an empty id":    {"", "t", []byte{}},
		"a long id":      {rep(129), "t", []byte{}},
		"no topic":       {"a", nil, []byte{}},
		"an empty topic": {"a", "", []byte{}},
		"a long topic":   {"a", rep(256), []byte{}},
		"no payload":     {"a", "t", nil},
	} {
		if _, err := t.tryExec(plainInsert, args...); err == nil {
			t.Errorf("%s was taken:%s", name, describe(t.records()))
			t.exec(`DELETE FROM {events}`)
		}
	}
}

// What is taken must be readable: one row that is not would stop all others.
func plainFraction(t *env) {
	want := []string{"now-0", "now-1"}
	if _, err := t.tryExec(`INSERT INTO {events} (id, topic, payload, due_ms) VALUES (?, ?, ?, 1.5)`, "half", "t", []byte{}); err == nil {
		want = append([]string{"half"}, want...)
	}
	t.write(events("now", 2)...)
	p := &receiver{}
	t.drain(t.relay(p, quick(relay.OrderTotal)))
	equalIDs(t, "handed over", p.ids(), want)
}

// A delayed event that was never tried holds nobody up, in whichever way it was delayed.
func plainDue(t *env) {
	t.exec(`INSERT INTO {events} (id, topic, payload, due_ms) VALUES (?, ?, ?, {clock} + 3600000)`, "later", "t", []byte{})
	t.write(events("now", 2)...)
	p := &receiver{}
	r := t.relay(p, quick(relay.OrderTotal))
	t.drain(r)
	equalIDs(t, "handed over", p.ids(), []string{"now-0", "now-1"})
	t.makeDue()
	t.drain(r)
	equalIDs(t, "handed over", p.ids(), []string{"now-0", "now-1", "later"})
}
