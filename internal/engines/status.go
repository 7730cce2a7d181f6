package engines

import (
	"context"
	"errors"
	"fmt"
	"os"
)

// ErrNotRunning is Status's answer for a server that nobody has brought up, or that does not answer.
var ErrNotRunning = errors.New("not running")

// Status returns the engine if it is up and starts nothing.
func Status(ctx context.Context, name string) (*Engine, error) {
	if name == "sqlite" {
		return sqlite(ctx)
	}
	p, err := productOf(name)
	if err != nil {
		return nil, err
	}
	if dsn := os.Getenv(p.variable); dsn != "" {
		return fromVariable(ctx, p, dsn)
	}
	h, err := openHome(p)
	if err != nil {
		return nil, err
	}
	e, err := h.running(ctx)
	if errors.Is(err, os.ErrNotExist) {
		return nil, ErrNotRunning
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotRunning, err)
	}
	return e, nil
}
