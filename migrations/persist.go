package migrations

import (
	"context"
	"errors"
	"time"

	"github.com/sqloutbox/sqloutbox/dialect"
	"github.com/sqloutbox/sqloutbox/internal/txn"
)

// Bounds of persist. An error that may come from another process at the same work is tried again for as long as that
// work could take; one that comes back though nobody got any further is shown.
const (
	patience   = 30 * time.Second
	otherTries = 4
	firstPause = 20 * time.Millisecond
	maxPause   = 500 * time.Millisecond
)

// persist runs step until it succeeds. Several processes that migrate at once make each other fail: with a duplicate
// key (on a version, and on PostgreSQL on its catalog, IF NOT EXISTS or not), a deadlock, a busy database, or an error
// of the engine's own, such as PostgreSQL's "tuple concurrently updated". Whichever it was, what is left to do is read
// afresh, so no list of codes is needed: as long as the count of applied migrations changes, somebody is at work.
func (m *migrator) persist(ctx context.Context, step func(context.Context) error) error {
	deadline := time.Now().Add(patience)
	pause := firstPause
	count := m.count(ctx)
	for tries := 1; ; tries++ {
		err := step(ctx)
		if err == nil || ctx.Err() != nil || isFinal(err) {
			return err
		}
		now := m.count(ctx)
		if now != count {
			count, tries = now, 0
		}
		class := m.d.Classify(err)
		raced := class == dialect.Conflict || class == dialect.Duplicate
		if !raced && tries >= otherTries || time.Now().After(deadline) {
			return err
		}
		if !txn.Pause(ctx, pause) {
			return err
		}
		pause = min(pause*2, maxPause)
	}
}

// isFinal reports whether err is this package's own verdict on what it has read, which another try would repeat.
func isFinal(err error) bool {
	return errors.Is(err, ErrSchemaDamaged) || errors.Is(err, ErrSchemaAhead) || errors.Is(err, ErrSchemaUnversioned)
}

// count is how many migrations are applied, -1 if there is no version table and -2 if the database doesn't say.
func (m *migrator) count(ctx context.Context) int {
	applied, versioned, err := m.versions(ctx)
	switch {
	case err != nil:
		return -2
	case !versioned:
		return -1
	}
	return len(applied)
}
