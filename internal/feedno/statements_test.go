package feedno

import (
	"strings"
	"testing"

	"github.com/sqloutbox/sqloutbox/internal/golden"
)

func TestStatementsAreHeldInGoldenFiles(t *testing.T) {
	rows := func(row string) string { return strings.Replace(insertRows, "{rows}", row+", "+row, 1) }
	golden.Check(t, map[string]string{
		"readState": readState, "insertCounter": insertCounter, "insertEpoch": insertEpoch, "highest": highest, "raise": raise, "take": take, "taken": taken,
		"insertRows": rows(nowRow), "insertRows of before": rows(thenRow),
	})
}
