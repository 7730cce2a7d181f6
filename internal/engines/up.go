package engines

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

// Up returns the engine, up, and writes a line to log for each step that takes time. Any number of processes may call
// it at once: one brings the server up and the others wait for it.
func Up(ctx context.Context, name string, log io.Writer) (*Engine, error) {
	if name == "sqlite" {
		return sqlite(ctx)
	}
	p, err := productOf(name)
	if err != nil {
		return nil, fmt.Errorf("bring up: %w", err)
	}
	e, err := up(ctx, p, log)
	if err != nil {
		return nil, fmt.Errorf("bring up %s: %w", name, err)
	}
	return e, nil
}

func up(ctx context.Context, p product, log io.Writer) (*Engine, error) {
	if dsn := os.Getenv(p.variable); dsn != "" {
		return fromVariable(ctx, p, dsn)
	}
	h, err := openHome(p)
	if err != nil {
		return nil, err
	}
	if e, err := h.running(ctx); err == nil {
		return e, nil
	}
	unlock, err := h.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	if e, err := h.running(ctx); err == nil {
		return e, nil // another process did it meanwhile
	}
	s := &steps{ctx: ctx, log: log, name: p.name, dir: h.dir}
	if err := h.bringUp(s); err != nil {
		return nil, err
	}
	return h.running(ctx)
}

// bringUp tries the ways in their order. A way that is open and fails is the answer: going on to the next would hide
// what is broken.
func (h home) bringUp(s *steps) error {
	if p, ok := h.product.find(); ok {
		return h.start(s, p)
	}
	if dockerAnswers(s.ctx) {
		return h.startContainer(s)
	}
	if err := h.product.install(s); err != nil {
		return fmt.Errorf("it is not installed and Docker does not answer; %w; %s, or set %s",
			err, h.product.advice, h.product.variable)
	}
	p, ok := h.product.find()
	if !ok {
		return fmt.Errorf("its programs are not where they were expected: %s, or set %s",
			h.product.advice, h.product.variable)
	}
	return h.start(s, p)
}

// fromVariable waits a little, since a server that CI has just started may not answer yet.
func fromVariable(ctx context.Context, p product, dsn string) (*Engine, error) {
	address, err := p.parseAddress(dsn)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", p.variable, err)
	}
	var version string
	err = retry(ctx, 30*time.Second, func() (bool, error) {
		version, err = probe(ctx, address)
		return err == nil, err
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", p.variable, err)
	}
	if is := strings.Contains(version, "MariaDB"); p.name != "postgres" && is != (p.name == "mariadb") {
		return nil, fmt.Errorf("%s: the server there is version %s, which is not %s", p.variable, version, p.name)
	}
	return &Engine{Name: p.name, Version: version, Port: portOf(address), Found: p.variable, admin: address}, nil
}

// retry calls f until it says it is done, for at most limit, and returns f's last error.
func retry(ctx context.Context, limit time.Duration, f func() (done bool, err error)) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for {
		done, err := f()
		if done {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(50 * time.Millisecond):
		}
	}
}
