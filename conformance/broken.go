package conformance

import (
	"strings"

	"github.com/sqloutbox/sqloutbox/outbox"
	"github.com/sqloutbox/sqloutbox/relay"
)

func brokenRules() []rule {
	return append(inEach("a row with broken headers is dead at once, and what is behind it flows", brokenHeaders),
		rule{"a broken row can be mended and requeued", brokenMended})
}

const brokenInsert = `INSERT INTO {events} (id, topic, payload, headers) VALUES (?, ?, ?, ?)`

func brokenHeaders(t *env, order relay.Order) {
	broken := map[string]string{"text": "no JSON", "cut": `{"a":"b`, "array": `["a"]`, "number": `{"a":1}`, "bytes": "\xff\x00"}
	want := t.write(events("before", 2)...)
	for id, headers := range broken {
		t.exec(brokenInsert, id, "t", []byte("p"), []byte(headers))
	}
	want = append(want, t.write(events("after", 2)...)...)
	p := &receiver{}
	if n := t.drain(t.relay(p, quick(order))); n != len(want) {
		t.Errorf("%d published, want %d", n, len(want))
	}
	sameIDs(t, "handed over", p.ids(), want)
	list, err := t.o.DeadLetters(t.ctx(), outbox.DeadLetterQuery{})
	if err != nil || len(list) != len(broken) {
		t.Errorf("%d dead letters, %v; want %d", len(list), err, len(broken))
	}
	for _, d := range list {
		if _, ok := broken[d.ID]; !ok || d.Attempts != 1 || !strings.Contains(d.LastError, "headers") || string(d.Payload) != "p" || d.Headers != nil {
			t.Errorf("dead letter %+v", d)
		}
	}
}

func brokenMended(t *env) {
	t.exec(brokenInsert, "x", "t", []byte{}, []byte("{"))
	p := &receiver{}
	r := t.relay(p, quick(relay.OrderTotal))
	t.drain(r)
	t.exec(`UPDATE {events} SET headers = ?`, []byte(`{"a":"b"}`))
	if n, err := t.o.Requeue(t.ctx(), "x"); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	t.drain(r)
	got := p.of("x")
	if len(got) != 1 || got[0].Headers["a"] != "b" || !got[0].Requeued {
		t.Errorf("handed over: %+v", got)
	}
}
