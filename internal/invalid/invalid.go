// Package invalid holds the error that the public packages share, so that errors.Is finds it whichever of them is asked
// for.
package invalid

import "errors"

// ErrOptions is ErrInvalidOptions of packages outbox, migrations and pgwake.
var ErrOptions = errors.New("invalid options")
