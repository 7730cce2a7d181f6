// Package lost knows a lost connection where no server has answered: by the kind of the error, as database/sql, a driver
// or the network gives it.
package lost

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
	"net"
	"slices"
)

// Connection reports whether err means that a connection is gone, or could not be made. own are the driver's errors for
// that. A cancelled or expired context is none, though the latter is a net.Error: the caller knows about it.
func Connection(err error, own ...error) bool {
	is := func(target error) bool { return errors.Is(err, target) }
	if is(context.Canceled) || is(context.DeadlineExceeded) {
		return false
	}
	all := append(own, driver.ErrBadConn, sql.ErrConnDone, io.EOF, io.ErrUnexpectedEOF, net.ErrClosed)
	if slices.ContainsFunc(all, is) {
		return true
	}
	_, network := errors.AsType[net.Error](err)
	return network
}
