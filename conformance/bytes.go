package conformance

import (
	"bytes"
	"maps"
	"math/rand/v2"
	"time"

	"github.com/sqloutbox/sqloutbox/outbox"
	"github.com/sqloutbox/sqloutbox/relay"
)

func byteRules() []rule {
	return []rule{
		{"bytes in are bytes out", bytesOut},
		{"headers, key and topic come out as they went in", textsOut},
		{"an event carries when it was written", createdAt},
	}
}

func bytesOut(t *env) {
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	payloads := [][]byte{
		nil, {}, {0}, {0, 0, 0}, {0xff, 0xfe}, all,
		[]byte(`{"a":"\u0000"}`), []byte(`{ "b" : 1e400, "b":2 }`), []byte("\xc3\x28"), []byte(`'"\?$1`), []byte("\\x00"), []byte("x'00'"), []byte("\r\n\x1a"),
		[]byte("line\u2028end "), bytes.Repeat([]byte{0x5c, 0x27, 0x00}, 30_000),
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range 40 {
		p := make([]byte, random.IntN(5000))
		for i := range p {
			p[i] = byte(random.Uint32())
		}
		payloads = append(payloads, p)
	}
	var list []outbox.Event
	for _, p := range payloads {
		list = append(list, outbox.Event{Topic: "t", Payload: p})
	}
	t.write(list...)
	p := &receiver{}
	t.drain(t.relay(p, quick(relay.OrderTotal)))
	got := p.messages()
	if len(got) != len(payloads) {
		t.Fatalf("%d of %d events came out", len(got), len(payloads))
	}
	for i, m := range got {
		if !bytes.Equal(m.Payload, payloads[i]) {
			t.Errorf("payload %d: %d bytes %.40q came out as %d bytes %.40q", i, len(payloads[i]), payloads[i], len(m.Payload), m.Payload)
		}
	}
}

func textsOut(t *env) {
	want := outbox.Event{
		ID: "id ü \U0001F600", Topic: "Tópic ", Key: " k\tey ",
		Headers: map[string]string{"content-type": "a/b", "Ü": "<&>\u2028 \U0001F600", " ": "", `"`: `\`},
	}
	t.write(want)
	p := &receiver{}
	t.drain(t.relay(p, nil))
	got := p.messages()
	if len(got) != 1 {
		t.Fatalf("%d messages", len(got))
	}
	if m := got[0]; m.ID != want.ID || m.Topic != want.Topic || m.Key != want.Key || !maps.Equal(m.Headers, want.Headers) {
		t.Errorf("%+v came out as %+v", want, m.Event)
	}
}

func createdAt(t *env) {
	before := t.number(readClock)
	t.write(events("e", 1)...)
	after := t.number(readClock)
	p := &receiver{}
	t.drain(t.relay(p, nil))
	for _, m := range p.messages() {
		if got := m.CreatedAt.UnixMilli(); got < before || got > after {
			t.Errorf("created %d, want between %d and %d", got, before, after)
		}
		if m.Seq <= 0 || m.Attempt != 1 || m.Requeued {
			t.Errorf("a first hand-over: seq %d, attempt %d, requeued %v", m.Seq, m.Attempt, m.Requeued)
		}
	}
	if now, err := t.o.Clock(t.ctx()); err != nil || now.Before(time.UnixMilli(after)) {
		t.Errorf("Clock: %v, %v", now, err)
	}
}
