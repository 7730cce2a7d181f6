package engines

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"
)

// Down stops the servers that were started here for the engines named, or for all of Names, and drops the databases
// that killed tests left, in Dir and in DiskDir. A server that a variable names is not ours and is left alone. No test may be running.
func Down(ctx context.Context, names ...string) error {
	if len(names) == 0 {
		names = Names()
	}
	var errs []error
	for _, name := range names {
		if name == "sqlite" {
			continue
		}
		p, err := productOf(name)
		for _, dir := range slices.Compact([]string{Dir(), cmp.Or(os.Getenv(DirVariable), DiskDir())}) {
			if err == nil {
				err = down(ctx, dir, p)
			}
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("stop %s: %w", name, err))
		}
	}
	return errors.Join(errs...)
}

func down(ctx context.Context, dir string, p product) error {
	h, err := openHomeIn(dir, p)
	if err != nil {
		return err
	}
	if dir == memoryDir() {
		defer os.RemoveAll(h.dir) // memory is not kept for the next time
	}
	unlock, err := h.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	rec, err := h.load()
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if rec.Container != "" {
		removeContainer(ctx, rec.Container)
		return nil
	}
	if e, err := h.running(ctx); err == nil {
		ctx, cancel := context.WithTimeout(ctx, time.Minute)
		_ = e.dropLeftOvers(ctx) // they cost only space
		cancel()
	}
	return rec.end(p.stop)
}
