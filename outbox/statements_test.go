package outbox

import (
	"strings"
	"testing"

	"github.com/sqloutbox/sqloutbox/internal/golden"
)

func TestStatementsAreHeldInGoldenFiles(t *testing.T) {
	rows := func(statement, row string) string {
		return strings.Replace(statement, "{rows}", row+", "+row, 1)
	}
	golden.Check(t, map[string]string{
		"insertNow": rows(insertNow, insertNowRow), "insertLater": rows(insertLater, insertLaterRow),
		"insertNow ignoring duplicates": rows(insertNow, insertNowRow) + "{ignore_id}",
		"deadColumns":                   deadColumns + deadMatch + deadOfTopic + deadPage,
		"deadSeqs":                      deadSeqs + deadMatch + deadPage,
		"requeueSeqs":                   requeueSeqs, "discardSeqs": discardSeqs, "seqsOfIDs": seqsOfIDs,
		"oldPublished": oldPublished, "purgePublished": purgePublished, "oldDead": oldDead, "purgeDead": purgeDead,
		"countPending": countPending, "countPublished": countPublished, "countDead": countDead,
		"countScheduled": countScheduled, "countDue": countDue, "oldestPending": oldestPending,
		"readClock": readClock, "readLeases": readLeases,
	})
}
