package outbox_test

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/sqloutbox/sqloutbox/dialect"
	"github.com/sqloutbox/sqloutbox/internal/hookdb"
	"github.com/sqloutbox/sqloutbox/outbox"
)

var errConflict = errors.New("a conflict")

// colliding takes errConflict for a conflict.
type colliding struct{ dialect.Dialect }

func (d colliding) Classify(err error) dialect.Class {
	if errors.Is(err, errConflict) {
		return dialect.Conflict
	}
	return d.Dialect.Classify(err)
}

// A COMMIT collides, and before the second try another puts the same dead letters back: they are not counted.
func TestWhatAConflictHasTakenBackIsNotCounted(t *testing.T) {
	eachBox(t, func(t *testing.T, b *box) {
		for name, requeue := range map[string]func(o *outbox.Outbox) (int, error){
			"by id": func(o *outbox.Outbox) (int, error) { return o.Requeue(t.Context(), eventID(1), eventID(2)) },
			"matching": func(o *outbox.Outbox) (int, error) {
				return o.RequeueMatching(t.Context(), outbox.DeadLetterQuery{})
			},
		} {
			t.Run(name, func(t *testing.T) {
				b := b.emptied(t)
				b.put(event{seq: 1, topic: "t", state: dead}, event{seq: 2, topic: "t", state: dead})
				var collided, other atomic.Bool
				db := hookdb.Open(b.db, hookdb.Hooks{Before: func(query string) error {
					switch {
					case query == hookdb.Commit && collided.CompareAndSwap(false, true):
						return errConflict
					case isBegin(query) && collided.Load() && other.CompareAndSwap(false, true):
						if n, err := requeue(b.Outbox); n != 2 || err != nil {
							t.Errorf("the other put back %d, %v", n, err)
						}
					}
					return nil
				}})
				defer db.Close()
				o, err := outbox.New(db, colliding{b.Dialect()}, nil)
				if err != nil {
					t.Fatal(err)
				}
				if n, err := requeue(o); n != 0 || err != nil || !other.Load() {
					t.Errorf("got %d, %v, want 0", n, err)
				}
			})
		}
	})
}

func isBegin(query string) bool {
	return strings.HasPrefix(query, hookdb.Begin) || strings.HasPrefix(query, "START TRANSACTION")
}
