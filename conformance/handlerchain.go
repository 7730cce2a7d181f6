package conformance

import (
	"context"
	"database/sql"
	"slices"
	"strings"

	"github.com/sqloutbox/sqloutbox/outbox"
	"github.com/sqloutbox/sqloutbox/relay"
)

func handlersChain(t *env, order relay.Order) {
	c := t.crew()
	var last relay.Message
	tries := 0
	own := c.one("own topic", func(ctx context.Context, tx *sql.Tx, m relay.Message) error {
		last = m
		if _, err := t.o.Write(ctx, tx, relay.Caused(m, outbox.Event{Topic: "conformance", Key: m.Key})); err != nil {
			return err
		}
		if tries++; tries == 1 {
			return errNo // what it caused must not be there
		}
		return nil
	})
	id := t.write(outbox.Event{ID: "first", Topic: "conformance", Key: "k"})[0]
	t.runUntilSettled(c.with(t.o, quick(order), &relay.HandlersOptions{MaxHops: 3}, own), 1)
	if n := len(c.of("own topic")); n != 5 {
		t.Errorf("called %d times, want 4 and once for the failure: %q", n, c.of("own topic"))
	}
	h := last.Headers
	if h[relay.CorrelationHeader] != id || h[relay.CausationHeader] == "" || h[relay.CausationHeader] == last.ID || h[relay.HopsHeader] != "3" {
		t.Errorf("headers of the third that was caused: %v", h)
	}
	letters, err := t.o.DeadLetters(t.ctx(), outbox.DeadLetterQuery{})
	if err != nil || len(letters) != 1 || !strings.Contains(letters[0].LastError, relay.ErrTooManyHops.Error()) || letters[0].Headers[relay.HopsHeader] != "4" {
		t.Errorf("dead letters: %+v, %v", letters, err)
	}
}

func handlersJSON(t *env, order relay.Order) {
	h, err := relay.NewHandlers(t.o, nil)
	if err != nil {
		t.Fatal(err)
	}
	var got []int
	type placed struct{ Total int }
	one := relay.Handler{Name: "json", Topics: []string{"*"}, From: relay.FromOldest, Tx: relay.JSON(func(_ context.Context, _ *sql.Tx, v placed, _ relay.Message) error {
		got = append(got, v.Total)
		return nil
	})}
	if err := h.Add(one); err != nil {
		t.Fatal(err)
	}
	t.write(outbox.Event{ID: "good", Topic: "t", Payload: []byte(`{"total":42}`)}, outbox.Event{ID: "bad", Topic: "t", Payload: []byte(`{"total":"x"}`)},
		outbox.Event{ID: "null", Topic: "t", Payload: []byte(" null ")}, outbox.Event{ID: "bytes", Topic: "t", Payload: []byte("{\"total\":1,\"x\":\"\xff\"}")})
	t.runUntilSettled(t.relay(h, quick(order)), 3)
	for id, want := range map[string]string{"null": "null", "bytes": "UTF-8"} {
		if x := t.record(id); x.attempts != 1 || !strings.Contains(x.lastError, "decode the payload") || !strings.Contains(x.lastError, want) {
			t.Errorf("want one attempt, and the decode error:%s", describe([]record{x}))
		}
	}
	if !slices.Equal(got, []int{42}) {
		t.Errorf("handled %v", got)
	}
	if x := t.record("bad"); x.attempts != 1 || !strings.Contains(x.lastError, "cannot unmarshal string") || !strings.Contains(x.lastError, "json") {
		t.Errorf("want one attempt, and the decode error:%s", describe([]record{x}))
	}
}
