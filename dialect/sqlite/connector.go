package sqlite

import (
	"context"
	"database/sql/driver"
	"math/rand/v2"
	"time"

	"github.com/sqloutbox/sqloutbox/dialect"
)

// connector opens connections, again while the database is busy. Turning a new file to WAL needs it alone, and SQLite
// doesn't wait for that, busy_timeout or not: several processes that start on a new file would fail.
type connector struct{ driver.Connector }

// Bounds of a connection's waiting.
const (
	connectPatience = busyTimeout
	connectPause    = 10 * time.Millisecond
)

func (c connector) Connect(ctx context.Context) (driver.Conn, error) {
	deadline := time.Now().Add(connectPatience)
	for {
		conn, err := c.Connector.Connect(ctx)
		if err == nil || New().Classify(err) != dialect.Conflict || time.Now().After(deadline) {
			return conn, err
		}
		timer := time.NewTimer(connectPause/2 + rand.N(connectPause))
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil, ctx.Err()
		case <-timer.C:
		}
	}
}
