package pgwake

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// between is the least time from one notice to the next. What is due meanwhile is one notice, sent at its end, so that a
// busy writer sends a hundred a second rather than one a transaction.
const between = 10 * time.Millisecond

// tell is one transaction by itself. Notices are not kept in a crash anyway, so that its commit, during which no other
// notifying transaction of the server can commit, does not wait for the disk.
const tell = `
SELECT set_config('synchronous_commit', 'off', true), pg_notify($1, '')`

// Wake has a notice sent: to every Notifier that listens on the channel, in this process too. It never blocks, and any
// number of calls while one is on its way count as one more. Attach the Notifier to the Outbox to have it called.
//
// A notice that can't be sent, at the second try either, is given up: relays find the events by polling.
func (n *Notifier) Wake() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed {
		return
	}
	select {
	case n.due <- struct{}{}:
	default:
	}
	if !n.sending {
		n.sending = true
		n.sender.Go(n.send)
	}
}

// Close sends what is still due, which takes a few seconds at most, and ends sending: Wake does nothing from then on.
// Listen is not ended by it.
func (n *Notifier) Close() error {
	n.mu.Lock()
	if !n.closed {
		n.closed = true
		close(n.closing)
	}
	n.mu.Unlock()
	n.sender.Wait()
	return nil
}

// send sends on one connection, which it makes when it needs it, until nothing was due for a while.
func (n *Notifier) send() {
	var conn *pgx.Conn
	defer func() { hangUp(conn) }()
	failing := false
	for n.awaitDue() {
		var err error
		conn, err = n.tellOnce(conn)
		if err != nil { // it may be broken since the last notice: a new one tells
			conn, err = n.tellOnce(conn)
		}
		if err != nil && !failing {
			n.log.Warn("other processes are not told of events: their relays find them by polling", "error", err)
		}
		failing = err != nil
		pause(n.closing, between)
	}
}

// awaitDue takes what is due. It answers false, and no sender is running any more, if nothing was for a while.
func (n *Notifier) awaitDue() bool {
	linger := time.NewTimer(n.linger)
	defer linger.Stop()
	select {
	case <-n.due:
		return true
	case <-linger.C:
	case <-n.closing:
	}
	n.mu.Lock() // Wake either has made something due, or starts another sender
	defer n.mu.Unlock()
	select {
	case <-n.due:
		return true
	default:
		n.sending = false
		return false
	}
}

// tellOnce answers the connection to go on with, or nil.
func (n *Notifier) tellOnce(conn *pgx.Conn) (*pgx.Conn, error) {
	// The context is bounded, and Close waits for it.
	ctx, cancel := context.WithTimeout(context.Background(), n.patience)
	defer cancel()
	if conn == nil {
		var err error
		if conn, err = pgx.ConnectConfig(ctx, n.config); err != nil {
			return nil, fmt.Errorf("connect: %w", err)
		}
	}
	// Without a prepared statement, which a pooler may not keep.
	if _, err := conn.Exec(ctx, tell, pgx.QueryExecModeExec, n.opts.Channel); err != nil {
		hangUp(conn)
		return nil, fmt.Errorf("notify: %w", err)
	}
	return conn, nil
}

// hangUp tells the server, unless the connection is broken.
func hangUp(conn *pgx.Conn) {
	if conn == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = conn.Close(ctx)
}
