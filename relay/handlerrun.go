package relay

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/sqloutbox/sqloutbox/internal/delivery"
)

// result is what came of calling a handler.
type result struct {
	err     error
	ran     bool     // it was called; or it is to count as if it had been
	late    *calling // it was charged before it returned, for not returning
	unknown bool     // err is of a commit that may have happened
	woken   bool     // of what another process has left: its event was made due, with the handler's effects
}

var (
	errCommitted = fmt.Errorf("%w: it called Commit, so that what it had written by then stays", ErrHandlerEndedTx)
	errNoTime    = errors.New("it had to wait for too long before it could run")
	errSettled   = errors.New("the event is settled already")
)

// run calls a handler. What it waits for before is bounded by the PublishTimeout, and so is the call itself, or by less.
func (h *Handlers) run(ctx context.Context, e *event, m Message, n *need) result {
	if n.own.NoTx != nil {
		return h.runNoTx(ctx, e, m, n)
	}
	e.began.Store(int64(h.relay.now().Mono))
	waiting, stop := context.WithTimeout(ctx, h.relay.opts.PublishTimeout)
	defer stop()
	leaveTx, err := h.enterTx(waiting)
	if err != nil {
		return result{err: h.notRun(waiting, err)}
	}
	defer leaveTx()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	opened := context.AfterFunc(waiting, cancel)
	tx, err := h.open(ctx, m.Seq, n)
	if tx != nil {
		defer func() { _ = tx.Rollback() }() // after Commit this does nothing
	}
	switch {
	case !opened():
		return result{err: h.notRun(waiting, errNoTime)}
	case err != nil:
		return result{err: h.notRun(waiting, err)}
	case tx == nil:
		return result{} // it is done
	}
	return h.runTx(ctx, leaveTx, tx, e, m, n)
}

// notRun is the error of a handler that could not be called. Nobody is charged.
func (h *Handlers) notRun(ctx context.Context, err error) error {
	switch {
	case errors.Is(ctx.Err(), context.Canceled):
		return ctx.Err()
	case ctx.Err() != nil:
		return &postponedError{err: errNoTime, wait: jitter(h.relay.opts.Poll)}
	case isPostponed(err), IsPermanent(err):
		return err
	}
	return Unavailable(err)
}

func (h *Handlers) runNoTx(ctx context.Context, e *event, m Message, n *need) result {
	if ctx.Err() != nil { // while it waited
		return result{err: ctx.Err()}
	}
	returned := h.begins(e, n)
	ctx, cancel := context.WithTimeout(ctx, h.timeout(n.own))
	defer cancel()
	err := guarded(func() error { return n.own.NoTx(ctx, m) })
	late := returned()
	if err != nil {
		return result{err: cutOff(ctx, err), ran: true, late: late}
	}
	if _, err := h.note(ctx, m.Seq, n.name, noted{state: delivery.Done, attempts: m.Attempt}); err != nil {
		return result{err: Unavailable(fmt.Errorf("record that it is done: %w", err))}
	}
	return result{ran: true}
}

// cutOff tells of a handler whose time was over, and marks the error of one whose process wanted it to end: that is not the
// event's doing.
func cutOff(ctx context.Context, err error) error {
	switch {
	case ctx.Err() == nil, IsPermanent(err), IsRejected(err):
		return err
	case errors.Is(ctx.Err(), context.Canceled):
		return fmt.Errorf("%w: %w", err, ctx.Err())
	}
	return fmt.Errorf("%w (its time was over)", err)
}

// guarded runs a handler in a goroutine of its own, so that a panic and runtime.Goexit are errors like others.
func guarded(fn func() error) error {
	answer := make(chan error, 1)
	go func() {
		err := errHandlerGoexit
		defer func() {
			if p := recover(); p != nil {
				err = fmt.Errorf("panicked: %v\n%s", p, debug.Stack())
			}
			answer <- err
		}()
		err = readable(fn())
	}()
	return <-answer
}

// readable is err, or what is wrong with it where its own methods panic, such as those of a typed nil.
func readable(err error) (out error) {
	defer func() {
		if p := recover(); p != nil {
			out = fmt.Errorf("its error (%T) can't be read: %v", err, p)
		}
	}()
	if err != nil {
		_ = err.Error()
		_ = IsPermanent(err) || IsRejected(err) || IsUnavailable(err)
	}
	return err
}

var errHandlerGoexit = errors.New("it called runtime.Goexit")
