package engines

import (
	"context"
	"errors"
	"fmt"
	"os"
)

// ErrNotRunning is Status's answer for a server that Up would have to start.
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
	if err == nil {
		return e, nil
	}
	if rec, _ := h.load(); rec.alive() {
		return nil, fmt.Errorf("%w as it should: %w", ErrNotRunning, err)
	}
	return nil, ErrNotRunning
}
