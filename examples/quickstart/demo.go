package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"
)

// stallAfter: when so long nothing has arrived, what is missing is taken for lost.
const stallAfter = 30 * time.Second

// demo is the whole story: make the tables, start the receiver and two relays, write, kill a relay half-way, wait until
// nothing is pending any more, compare.
func demo(ctx context.Context, cfg config, events []event, s *screen) (result *report, err error) {
	p, err := openPlace(ctx, cfg.db)
	if err != nil {
		return nil, err
	}
	defer func() {
		s.clear()
		if result != nil && !result.ok() {
			s.printf("kept for a look: tables %s* in %s", p.prefix, p.url)
			return
		}
		err = errors.Join(err, p.remove(ctx))
	}()

	t := newCrew()
	defer func() { err = errors.Join(err, t.stop()) }()

	committed := cfg.n - cfg.n/rollbackEvery
	r := newReceiver((committed+1)/2, func(relay string) {
		t.kill(relay)
		s.printf("%s: killed with SIGKILL while it waited for an answer", relay)
	})
	to, closeReceiver, err := serve(r)
	if err != nil {
		return nil, err
	}
	defer closeReceiver()

	for _, name := range []string{"relay-a", "relay-b"} {
		c, err := startRelay(relayConfig{Name: name, DB: p.url, Prefix: p.prefix, To: to}, s)
		if err != nil {
			return nil, err
		}
		t.add(c)
	}

	// The relays work while the events are being written: they stand in nobody's way.
	w := &writer{o: p.o, d: p.d, table: p.table}
	rolledBack, err := w.writeAll(ctx, events, cfg.n, func(n int) {
		received, _ := r.counts()
		s.progress("written %d of %d, received %d", n, cfg.n, received)
	})
	if err != nil {
		return nil, err
	}
	if err := awaitEmpty(ctx, p, r, t, s); err != nil {
		return nil, err
	}
	// What the relays have in hand, they finish. After this nothing more can arrive.
	if err := t.stop(); err != nil {
		return nil, err
	}
	e := evidence{rolledBack: rolledBack, deliveries: r.all()}
	e.killed, e.killedAt = t.victim()
	if err := p.look(ctx, &e); err != nil {
		return nil, err
	}
	return judge(e), nil
}

// serve runs the receiver on a free port of the loopback interface.
func serve(r *receiver) (url string, stop func(), err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	server := &http.Server{Handler: r, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = server.Serve(l) }() // ends with Close
	return fmt.Sprintf("http://%s/events", l.Addr()), func() { _ = server.Close() }, nil
}

// awaitEmpty waits until the outbox says that nothing is pending, or until nothing has arrived for a long time: then
// the report shall say what is missing.
func awaitEmpty(ctx context.Context, p *place, r *receiver, t *crew, s *screen) error {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	before, since := 0, time.Now()
	for {
		stats, err := p.o.Stats(ctx)
		if err != nil {
			return err
		}
		if stats.Pending == 0 {
			return nil
		}
		received, all := r.counts()
		s.progress("all written, received %d, pending %d", received, stats.Pending)
		if all != before {
			before, since = all, time.Now()
		}
		if time.Since(since) > stallAfter {
			s.printf("nothing arrived for %v", stallAfter)
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-t.gone:
			return t.failure()
		case <-tick.C:
		}
	}
}
