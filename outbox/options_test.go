package outbox

import (
	"database/sql"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/sqloutbox/sqloutbox/dialect/sqlite"
)

func TestBadRetriesAreRefusedByName(t *testing.T) {
	for field, retry := range map[string]RetryDefaults{
		"Retry.MaxAttempts":     {MaxAttempts: -1},
		"Retry.DeadLetterAfter": {DeadLetterAfter: -1},
		"Retry.Backoff ":        {Backoff: -1},
		"Retry.BackoffMax -":    {BackoffMax: -1},
		"Retry.BackoffMax 1s":   {Backoff: time.Minute, BackoffMax: time.Second},
	} {
		_, err := New(&sql.DB{}, sqlite.New(), &Options{Retry: retry})
		if !errors.Is(err, ErrInvalidOptions) || !strings.Contains(err.Error(), field) {
			t.Errorf("%s: %v", field, err)
		}
	}
}
