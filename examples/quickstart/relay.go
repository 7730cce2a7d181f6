package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"time"

	"github.com/sqloutbox/sqloutbox/dialect/all"
	"github.com/sqloutbox/sqloutbox/outbox"
	"github.com/sqloutbox/sqloutbox/relay"
)

// relayEnv holds a relayConfig as JSON and makes this program a relay. It is not an argument, since a database URL may
// hold a password, and arguments can be read by every user of the machine.
const relayEnv = "SQLOUTBOX_QUICKSTART_RELAY"

type relayConfig struct {
	Name   string // who it is, in the header X-Relay
	DB     string // URL
	Prefix string // of the outbox's tables
	To     string // URL of the receiver
}

// relayMain is the relay process: it hands events on until its standard input ends. That happens when the parent
// closes it and also when the parent dies, however it dies, so no relay is left behind.
func relayMain(text string, stdin io.Reader, stdout, stderr io.Writer) int {
	signal.Ignore(os.Interrupt) // Ctrl-C reaches both; the parent decides
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		_, _ = io.Copy(io.Discard, stdin)
		cancel()
	}()
	var cfg relayConfig
	err := json.Unmarshal([]byte(text), &cfg)
	if err == nil {
		err = runRelay(ctx, cfg, stdout, stderr)
	}
	if err != nil {
		fmt.Fprintln(stderr, err)
		return 1
	}
	return 0
}

func runRelay(ctx context.Context, cfg relayConfig, stdout, stderr io.Writer) error {
	db, d, err := all.Open(cfg.DB)
	if err != nil {
		return err
	}
	defer db.Close()
	o, err := outbox.New(db, d, &outbox.Options{Prefix: cfg.Prefix})
	if err != nil {
		return err
	}
	r, err := relay.New(o, &httpPublisher{to: cfg.To, name: cfg.Name}, &relay.Options{
		Order: relay.OrderTotal, // one relay works, the other stands by
		// After a crash nobody works until the lease is over. A second is short, so that the demonstration is; the
		// default is 30 s.
		Lease: time.Second,
		Poll:  50 * time.Millisecond,
		// What was handed over but not yet recorded when a relay died is handed over again: one batch at most.
		Batch: 50,
		// Published events are deleted at once by default. Here they are kept to be counted at the end.
		Retention: time.Hour,
		Observers: []relay.Observer{leaseReporter{stdout}},
		Logger:    slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
	})
	if err != nil {
		return err
	}
	return r.Run(ctx)
}

// httpPublisher posts each event to the receiver. Returning nil says that it is safe there, and nothing else does.
type httpPublisher struct{ to, name string }

func (p *httpPublisher) Publish(ctx context.Context, m relay.Message) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.to, bytes.NewReader(m.Payload))
	if err != nil {
		return relay.Permanent(err) // no retry would mend it
	}
	for name, value := range m.Headers {
		req.Header.Set(name, value)
	}
	req.Header.Set("X-Event-ID", m.ID)
	req.Header.Set("X-Event-Topic", m.Topic)
	req.Header.Set("X-Event-Attempt", fmt.Sprint(m.Attempt))
	req.Header.Set("X-Relay", p.name)
	res, err := http.DefaultClient.Do(req)
	var dial *net.OpError
	switch {
	case errors.As(err, &dial) && dial.Op == "dial":
		return relay.Unavailable(err) // the receiver is down: wait for it, and blame no event
	case err != nil:
		return err // it may be the event's fault: a header that can't be sent, say
	}
	defer res.Body.Close()
	body, _ := io.ReadAll(io.LimitReader(res.Body, 1024)) // read to the end, so that the connection is used again
	if res.StatusCode/100 != 2 {
		return fmt.Errorf("receiver: %s: %s", res.Status, strings.TrimSpace(string(body)))
	}
	return nil
}

// leaseReporter prints when this relay becomes the one that works.
type leaseReporter struct{ out io.Writer }

// LeaseWon is called by the relay.
func (l leaseReporter) LeaseWon(_ string, token int64) {
	fmt.Fprintf(l.out, "owns the lease now (token %d)\n", token)
}
