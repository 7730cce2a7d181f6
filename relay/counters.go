package relay

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/sqloutbox/sqloutbox/dialect"
	"github.com/sqloutbox/sqloutbox/internal/tally"
	"github.com/sqloutbox/sqloutbox/internal/txn"
)

// counts are numbers that outlive this process, for an operator: when outcomes were recorded last, and how many were
// refused. Here is what is not written yet: that is done with the signs of life, and so costs nothing a batch.
type counts struct{ drained, refused atomic.Int64 }

// report writes what has been counted since it was written last.
func (r *Relay) report(ctx context.Context) error {
	for _, c := range []struct {
		name string
		n    *atomic.Int64
	}{{tally.Drained, &r.counts.drained}, {tally.Refused, &r.counts.refused}} {
		n := c.n.Swap(0)
		if n == 0 {
			continue
		}
		err := txn.Run(ctx, r.db, r.d, func(tx dialect.Tx) error { return tally.Add(ctx, tx, r.sql, c.name, n) })
		if err != nil {
			c.n.Add(n)
			return fmt.Errorf("count %s: %w", c.name, err)
		}
	}
	return nil
}
