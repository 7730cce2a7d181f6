package relay

import (
	"errors"
	"time"
)

// verdicts are what came of an event's handlers.
type verdicts struct {
	permanent, failed, unavailable, postponed []error
	foreign                                   []*need
	wait                                      time.Duration // until the first of them is to be tried again; -1: none is
	elsewhere                                 bool
}

func (v *verdicts) add(name string, err error) {
	if err == nil {
		return
	}
	named := error(&handlerError{name, err})
	var retry *retryError
	var later *postponedError
	switch {
	case errors.As(err, &retry):
		v.soonest(retry.wait)
	case errors.As(err, &later):
		v.soonest(later.wait)
		v.elsewhere = v.elsewhere || later.elsewhere
	}
	switch {
	case IsPermanent(err):
		v.permanent = append(v.permanent, named)
	case later != nil:
		v.postponed = append(v.postponed, named)
	case IsUnavailable(err):
		v.unavailable = append(v.unavailable, named)
	default:
		v.failed = append(v.failed, named)
	}
}

func (v *verdicts) soonest(wait time.Duration) {
	if v.wait < 0 || wait < v.wait {
		v.wait = wait
	}
}

// error is what the event's own outcome is made of: the worst of them. The event is due when the first of them is; those
// whose own time has not come then wait on.
func (v *verdicts) error() error {
	switch {
	case len(v.permanent) > 0:
		return errors.Join(v.permanent...)
	case len(v.failed) > 0:
		return &retryError{errors.Join(v.failed...), v.wait}
	case len(v.unavailable) > 0:
		return errors.Join(v.unavailable...)
	case len(v.postponed) > 0:
		return &postponedError{err: errors.Join(v.postponed...), wait: v.wait, elsewhere: v.elsewhere}
	}
	return nil
}
