package relay_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/sqloutbox/sqloutbox/dialect"
	"github.com/sqloutbox/sqloutbox/internal/engines"
	"github.com/sqloutbox/sqloutbox/outbox"
	"github.com/sqloutbox/sqloutbox/relay"
)

func nothing(context.Context, *sql.Tx, relay.Message) error { return nil }

func TestBadHandlersAreRefusedByName(t *testing.T) {
	db, o := outboxWith()
	defer db.Close()
	outside := func(context.Context, relay.Message) error { return nil }
	for field, one := range map[string]relay.Handler{
		"Name":                   {Topics: []string{"*"}, Tx: nothing},
		"Name has 129 bytes":     {Name: strings.Repeat("x", 129), Topics: []string{"*"}, Tx: nothing},
		"Name holds a NUL":       {Name: "a\x00", Topics: []string{"*"}, Tx: nothing},
		"FormerName":             {Name: "a", FormerName: "\xff", Topics: []string{"*"}, Tx: nothing},
		"FormerName is its name": {Name: "a", FormerName: "a", Topics: []string{"*"}, Tx: nothing},
		"no topics":              {Name: "a", Tx: nothing},
		`topic "a*"`:             {Name: "a", Topics: []string{"b", "a*"}, Tx: nothing},
		"exactly one of Tx":      {Name: "a", Topics: []string{"*"}},
		"NoTx":                   {Name: "a", Topics: []string{"*"}, Tx: nothing, NoTx: outside},
		"From":                   {Name: "a", Topics: []string{"*"}, Tx: nothing, From: 7},
		"Timeout":                {Name: "a", Topics: []string{"*"}, Tx: nothing, Timeout: -1},
		"the name is taken":      {Name: "taken", Topics: []string{"*"}, Tx: nothing},
	} {
		h, err := relay.NewHandlers(o, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := h.HandleNoTx("taken", []string{"a.*"}, outside); err != nil {
			t.Fatal(err)
		}
		if err := h.Add(one); !errors.Is(err, outbox.ErrInvalidOptions) || !strings.Contains(err.Error(), field) {
			t.Errorf("%s: %v", field, err)
		}
	}
	if _, err := relay.NewHandlers(nil, nil); !errors.Is(err, outbox.ErrInvalidOptions) {
		t.Error(err)
	}
	for _, opts := range []relay.HandlersOptions{{MaxHops: -1}, {TxOptions: &sql.TxOptions{ReadOnly: true}}} {
		if _, err := relay.NewHandlers(o, &opts); !errors.Is(err, outbox.ErrInvalidOptions) {
			t.Error(err)
		}
	}
}

func TestHandlersAreOneRelaysAndComplete(t *testing.T) {
	db, o := outboxWith()
	defer db.Close()
	_, other := outboxWith()
	h, err := relay.NewHandlers(o, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Publish(t.Context(), relay.Message{}); err == nil {
		t.Error("handlers without a relay were run")
	}
	if _, err := relay.New(other, h, nil); !errors.Is(err, outbox.ErrInvalidOptions) {
		t.Errorf("the relay of another outbox: %v", err)
	}
	if _, err := relay.New(o, h, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := relay.New(o, h, nil); !errors.Is(err, outbox.ErrInvalidOptions) {
		t.Errorf("a second relay: %v", err)
	}
	if err := h.Handle("late", []string{"*"}, nothing); !errors.Is(err, outbox.ErrInvalidOptions) {
		t.Errorf("a handler that comes after the relay: %v", err)
	}
}

func TestRejectOutsideOfHandlersIsPermanent(t *testing.T) {
	db, o := outboxWith("no")
	defer db.Close()
	r, err := relay.New(o, relay.PublisherFunc(func(context.Context, relay.Message) error {
		return relay.Reject(errors.New("not this one"))
	}), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Drain(t.Context()); err != nil {
		t.Fatal(err)
	}
	if s, err := o.Stats(t.Context()); err != nil || s.Dead != 1 {
		t.Errorf("%+v, %v", s, err)
	}
	if relay.Reject(nil) != nil || relay.IsRejected(errors.New("x")) {
		t.Error("Reject(nil), or IsRejected of any error")
	}
}

// A handler outside of a transaction holds up nobody, however slow it is. One in a transaction holds up the host's writes
// on an engine with one writer, and there alone; they get through when it ends.
func TestASlowHandlerAndTheHostsWrites(t *testing.T) {
	engines.Each(t, func(t *testing.T, e *engines.Engine) {
		o := newOutbox(t, e)
		if _, err := o.DB().ExecContext(t.Context(), "CREATE TABLE host (n BIGINT)"); err != nil {
			t.Fatal(err)
		}
		began, finish := make(chan string), make(chan struct{})
		waits := func(ctx context.Context, name string) error {
			began <- name
			select {
			case <-ctx.Done():
			case <-finish:
			}
			return ctx.Err()
		}
		h, err := relay.NewHandlers(o, nil)
		if err != nil {
			t.Fatal(err)
		}
		err = errors.Join(
			h.HandleNoTx("outside", []string{"outside"}, func(ctx context.Context, _ relay.Message) error { return waits(ctx, "outside") }),
			h.Handle("inside", []string{"inside"}, func(ctx context.Context, _ *sql.Tx, _ relay.Message) error { return waits(ctx, "inside") }))
		if err != nil {
			t.Fatal(err)
		}
		r, err := relay.New(o, h, &relay.Options{Poll: 10 * time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		if n, err := r.RunOnce(t.Context()); n != 0 || err != nil { // the handlers begin now
			t.Fatal(n, err)
		}
		defer running(t, r)()
		oneWriter := o.Dialect().Lock() == ""
		for _, topic := range []string{"outside", "inside"} {
			write(t, o, outbox.Event{Topic: topic})
			if name := <-began; name != topic {
				t.Fatalf("handler %q began", name)
			}
			if topic == "inside" && oneWriter {
				if err := hostWrites(t, o.DB(), "PRAGMA busy_timeout = 0"); o.Dialect().Classify(err) != dialect.Conflict {
					t.Errorf("a write beside the handler's transaction: %v, want that it can't be had now", err)
				}
				waiting := make(chan error, 1)
				go func() { waiting <- hostWrites(t, o.DB(), "") }()
				finish <- struct{}{}
				if err := <-waiting; err != nil {
					t.Errorf("a write that waits for the handler: %v", err)
				}
				continue
			}
			if err := hostWrites(t, o.DB(), ""); err != nil {
				t.Errorf("a write while handler %q runs: %v", topic, err)
			}
			finish <- struct{}{}
		}
	})
}

// hostWrites is a write of the host's, on a connection that is set up by a statement, if there is one. It fails rather than
// wait for good.
func hostWrites(t *testing.T, db *sql.DB, setUp string) error {
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	if setUp != "" {
		if _, err := conn.ExecContext(ctx, setUp); err != nil {
			return err
		}
		defer conn.Raw(func(any) error { return driver.ErrBadConn }) // nobody else is to have it
	}
	_, err = conn.ExecContext(ctx, "INSERT INTO host (n) VALUES (1)")
	return err
}
