package bench

import (
	"context"
	"fmt"
	"strings"

	"github.com/sqloutbox/sqloutbox/internal/bench/contest"
)

// tidy takes away MySQL's binary logs of what is over: a full run writes more than a hundred gigabytes of them. Only on a
// server that was started here; somebody else's is left alone.
func (r *runner) tidy(ctx context.Context) error {
	if r.on.Name != "mysql" || strings.HasPrefix(r.on.Found, "OUTBOX_TEST_") {
		return nil
	}
	p, err := contest.OpenPlace("mysql", r.on.AdminURL())
	if err != nil {
		return err
	}
	defer p.Close()
	for _, statement := range []string{"FLUSH BINARY LOGS", "PURGE BINARY LOGS BEFORE NOW()"} {
		if _, err := p.DB.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("tidy: %w", err)
		}
	}
	return nil
}
