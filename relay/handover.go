package relay

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
)

// errGoexit: the publisher ended its goroutine by runtime.Goexit (as testing's FailNow does).
var errGoexit = errors.New("the publisher called runtime.Goexit")

// handOver calls the publisher for the events and gives one error each. A panic is an error with its stack. On
// runtime.Goexit it does not return: the goroutine's owner sees to that.
func (r *Relay) handOver(ctx context.Context, events []*event) (errs []error) {
	if err := events[0].broken; err != nil { // such a row goes by itself
		return []error{Permanent(err)}
	}
	if r.handlers == nil { // each handler has a time of its own
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, r.opts.PublishTimeout)
		defer cancel()
	}
	defer func() {
		if p := recover(); p != nil {
			errs = same(fmt.Errorf("the publisher panicked: %v\n%s", p, debug.Stack()), len(events))
		}
	}()
	if r.handlers != nil {
		return []error{r.handlers.handle(ctx, events[0])}
	}
	if r.batch == nil {
		return []error{r.one.Publish(ctx, events[0].msg)}
	}
	ms := make([]Message, len(events))
	for i, e := range events {
		ms[i] = e.msg
	}
	errs = r.batch.PublishBatch(ctx, ms)
	if len(errs) != len(ms) {
		return same(Unavailable(fmt.Errorf("%w: %d for %d", ErrAnswers, len(errs), len(ms))), len(events))
	}
	return errs
}

func same(err error, n int) []error {
	errs := make([]error, n)
	for i := range errs {
		errs[i] = err
	}
	return errs
}
