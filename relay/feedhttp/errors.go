package feedhttp

import (
	"errors"

	"github.com/sqloutbox/sqloutbox/internal/invalid"
)

// ErrInvalidOptions is outbox.ErrInvalidOptions: New was given what it refuses. The message names it.
var ErrInvalidOptions = invalid.ErrOptions

// ErrUnauthenticated is what Options.Authorize answers, by itself or wrapped, where it does not know who is asking.
var ErrUnauthenticated = errors.New("not authenticated")

// errOver ends a stream that the client, the server or MaxAge has ended.
var errOver = errors.New("the stream was ended")
