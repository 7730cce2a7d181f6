package migrations_test

import (
	"context"
	"errors"
	"strings"
	"sync"

	"github.com/sqloutbox/sqloutbox/internal/hookdb"
)

var errKilled = errors.New("the process was killed")

// fault is a point in the run of a program at which it dies: at the nth change, before or after it has been made. From
// then on nothing works any more.
type fault struct {
	nth   int
	after bool
	die   context.CancelFunc

	mu   sync.Mutex // guards seen and dead
	seen int
	dead bool
}

func (f *fault) hooks() hookdb.Hooks {
	return hookdb.Hooks{
		Before: func(statement string) error {
			f.mu.Lock()
			defer f.mu.Unlock()
			if changes(statement) {
				f.seen++
			}
			return f.at(statement, false)
		},
		After: func(statement string) error {
			f.mu.Lock()
			defer f.mu.Unlock()
			return f.at(statement, true)
		},
	}
}

func (f *fault) at(statement string, after bool) error {
	if f.seen == f.nth && f.after == after && changes(statement) && !f.dead {
		f.dead = true
		f.die()
	}
	if f.dead {
		return errKilled
	}
	return nil
}

// changes leaves out reading, which is not worth dying at.
func changes(statement string) bool {
	switch statement {
	case hookdb.Connect, hookdb.Begin, hookdb.Rollback:
		return false
	}
	return !strings.HasPrefix(strings.TrimSpace(statement), "SELECT")
}
