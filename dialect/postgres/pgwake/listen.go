package pgwake

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// Listen wakes relays whenever a notice comes, until ctx ends; then it answers nil. It holds one connection, makes
// another one when that breaks, and each time it has come up wakes the relays once, since notices are not kept for who
// is away. No state of the server ends it.
//
// An Outbox is refused with ErrInvalidOptions: to wake it is to tell every other process, which would tell this one.
func (n *Notifier) Listen(ctx context.Context, relays ...Waker) error {
	if err := n.checkWakers(relays); err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	wake := func() {
		for _, r := range relays {
			r.Wake()
		}
	}
	fails := 0
	for ctx.Err() == nil {
		err := n.hear(ctx, func() {
			if fails > 0 {
				n.log.Info("listening again")
			}
			fails = 0
			wake()
		}, wake)
		if ctx.Err() != nil {
			break
		}
		if fails++; fails == 1 {
			n.log.Warn("not listening: relays find events by polling meanwhile", "error", err)
		}
		pause(ctx.Done(), backoff(fails))
	}
	return nil
}

func (n *Notifier) checkWakers(wakers []Waker) error {
	if len(wakers) == 0 {
		return fmt.Errorf("%w: there is nobody to wake", ErrInvalidOptions)
	}
	for _, w := range wakers {
		switch w.(type) {
		case nil:
			return fmt.Errorf("%w: a Waker is nil", ErrInvalidOptions)
		case *Notifier, interface{ DB() *sql.DB }: // the second is an Outbox, which this package must not import
			return fmt.Errorf("%w: a %T sends on what it is woken with: name the relays", ErrInvalidOptions, w)
		}
	}
	return nil
}

// hear listens on one connection until it breaks or ctx ends. It calls up once when it has come up, and heard for each
// notice.
func (n *Notifier) hear(ctx context.Context, up, heard func()) error {
	conn, err := n.listenOn(ctx)
	if err != nil {
		return err
	}
	defer hangUp(conn)
	up()
	for {
		waiting, cancel := context.WithTimeout(ctx, n.opts.Idle)
		_, err := conn.WaitForNotification(waiting)
		cancel()
		switch {
		case err == nil:
			heard()
		case ctx.Err() != nil:
			return ctx.Err()
		case !pgconn.Timeout(err) || conn.IsClosed():
			return fmt.Errorf("wait for a notice: %w", err)
		default:
			if err := n.ask(ctx, conn); err != nil {
				return err
			}
		}
	}
}

func (n *Notifier) listenOn(ctx context.Context) (*pgx.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, n.patience)
	defer cancel()
	conn, err := pgx.ConnectConfig(ctx, n.config)
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	// A quoted name keeps its capitals, as pg_notify does.
	if _, err := conn.Exec(ctx, "LISTEN "+pgx.Identifier{n.opts.Channel}.Sanitize()); err != nil {
		hangUp(conn)
		return nil, fmt.Errorf("listen: %w", err)
	}
	return conn, nil
}

// ask finds out whether anybody is at the other end. A notice that comes with the answer is kept for the next wait.
func (n *Notifier) ask(ctx context.Context, conn *pgx.Conn) error {
	ctx, cancel := context.WithTimeout(ctx, n.patience)
	defer cancel()
	if err := conn.Ping(ctx); err != nil {
		return fmt.Errorf("nothing heard for %v, and no answer: %w", n.opts.Idle, err)
	}
	return nil
}
