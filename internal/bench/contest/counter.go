package contest

import (
	"strings"
	"sync/atomic"

	"github.com/sqloutbox/sqloutbox/internal/hookdb"
)

// Counter counts what is sent to an engine: statements, and beside them what begins and ends transactions.
type Counter struct {
	statements, control atomic.Int64
}

func (c *Counter) add(query string) error {
	switch {
	case query == hookdb.Connect:
	case isControl(query):
		c.control.Add(1)
	default:
		c.statements.Add(1)
	}
	return nil
}

func isControl(query string) bool {
	query = strings.ToUpper(strings.TrimSpace(query))
	for _, prefix := range []string{"BEGIN", "COMMIT", "ROLLBACK", "START TRANSACTION", "SET ", "SAVEPOINT", "RELEASE"} {
		if strings.HasPrefix(query, prefix) {
			return true
		}
	}
	return false
}

// Counts are the statements, and all round trips, so far.
func (c *Counter) Counts() (statements, all int) {
	s, x := int(c.statements.Load()), int(c.control.Load())
	return s, s + x
}
