package engines

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// home is the directory in which one server lives: data/, log, and state.json, which says how to reach it. It is
// outside the checkout, so that all checkouts of a user share the servers.
type home struct {
	dir     string
	product product
}

// record is what state.json holds.
type record struct {
	Found     string `json:"found"`
	Settings  string `json:"settings"` // that it runs with; others mean that it is started again
	Port      int    `json:"port"`
	PID       int    `json:"pid,omitempty"`
	Born      string `json:"born,omitempty"` // when the process began: a pid alone may be another's by now
	Container string `json:"container,omitempty"`
}

// openHome makes the directory in Dir.
func openHome(p product) (home, error) { return openHomeIn(Dir(), p) }

func openHomeIn(parent string, p product) (home, error) {
	h := home{dir: filepath.Join(parent, p.name), product: p}
	for _, dir := range []string{parent, h.dir} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return home{}, fmt.Errorf("make directory: %w", err)
		}
		// In a directory that all may write to, another user could have been first.
		info, err := os.Lstat(dir)
		if err != nil {
			return home{}, fmt.Errorf("make directory: %w", err)
		}
		if stat, ok := info.Sys().(*syscall.Stat_t); !info.IsDir() || ok && int(stat.Uid) != os.Getuid() {
			return home{}, fmt.Errorf("make directory: %s is not a directory of this user", dir)
		}
	}
	return h, nil
}

func (h home) path(name string) string { return filepath.Join(h.dir, name) }

// running returns the engine if its server answers, and runs with the settings that are wanted now.
func (h home) running(ctx context.Context) (*Engine, error) {
	rec, err := h.load()
	if err != nil {
		return nil, err
	}
	if rec.Settings != h.wanted() {
		return nil, errors.New("it runs with other settings")
	}
	address := h.product.adminURL(rec.Port)
	version, err := probe(ctx, address)
	if err != nil {
		return nil, err
	}
	return &Engine{Name: h.product.name, Version: version, Port: rec.Port, Found: rec.Found, admin: address}, nil
}

func (h home) wanted() string { return strings.Join(h.product.settings, " ") }

func (h home) load() (record, error) {
	var rec record
	text, err := os.ReadFile(h.path("state.json"))
	if err != nil {
		return record{}, fmt.Errorf("read state: %w", err)
	}
	if err := json.Unmarshal(text, &rec); err != nil {
		return record{}, fmt.Errorf("read state: %w", err)
	}
	return rec, nil
}

// save replaces the state in one step, since others read it without the lock.
func (h home) save(rec record) error {
	text, err := json.MarshalIndent(rec, "", "  ")
	if err != nil {
		return fmt.Errorf("write state: %w", err)
	}
	if err := os.WriteFile(h.path("state.new"), append(text, '\n'), 0o644); err != nil {
		return fmt.Errorf("write state: %w", err)
	}
	if err := os.Rename(h.path("state.new"), h.path("state.json")); err != nil {
		return fmt.Errorf("write state: %w", err)
	}
	return nil
}

// lock keeps other processes from bringing the same server up or down. The kernel frees it when its holder dies.
func (h home) lock(ctx context.Context) (unlock func(), err error) {
	return lockFile(ctx, h.path("lock"))
}

func lockFile(ctx context.Context, path string) (unlock func(), err error) {
	// The descriptor closes on exec, as all of Go's do: a server that held it would hold the lock for ever.
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock: %w", err)
	}
	err = retry(ctx, 15*time.Minute, func() (bool, error) {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		return !errors.Is(err, syscall.EWOULDBLOCK), err
	})
	if err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	return func() { _ = f.Close() }, nil
}
