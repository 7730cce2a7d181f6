package outbox

import (
	"strings"
	"testing"

	"github.com/sqloutbox/sqloutbox/internal/delivery"
	"github.com/sqloutbox/sqloutbox/internal/golden"
)

func TestStatementsAreHeldInGoldenFiles(t *testing.T) {
	rows := func(statement, row string) string {
		return strings.Replace(statement, "{rows}", row+", "+row, 1)
	}
	golden.Check(t, map[string]string{
		"insertNow": rows(insertNow, insertNowRow), "insertLater": rows(insertLater, insertLaterRow),
		"insertNow guarded": rows(insertNow, guardedNowRow), "insertLater guarded": rows(insertLater, guardedLaterRow),
		"guardedMessage":                guardedMessage,
		"insertNow ignoring duplicates": rows(insertNow, insertNowRow) + "{ignore_id}",
		"deadColumns":                   deadColumns + deadMatch + deadOfTopic + deadPage,
		"deadSeqs":                      deadSeqs + deadMatch + deadPage,
		"requeueSeqs":                   requeueSeqs, "discardSeqs": discardSeqs, "seqsOfIDs": seqsOfIDs, "retiredHandlers": retiredHandlers, "lockDead": lockDead,
		"forgetFailed": forgetFailed, "forgetAll": delivery.Forget, "recordedBy": delivery.RecordedBy,
		"lockHandler": lockHandler, "retireHandler": retireHandler, "setHandlerTopics": setHandlerTopics, "wakeOutstanding": wakeOutstanding,
		"outstandingPage": outstandingPage, "readHandlers": readHandlers, "countDeliveries": countDeliveries, "oldestUnhandled": oldestUnhandled,
		"oldPublished": oldPublished, "purgePublished": purgePublished, "oldDead": oldDead,
		"countPending": countPending, "countPublished": countPublished, "countDead": countDead,
		"countScheduled": countScheduled, "countOverdue": countOverdue, "firstDue": firstDue, "firstOverdue": firstOverdue, "countDue": countDue, "oldestPending": oldestPending,
		"countHeld": countHeld, "countWaiting": countWaiting, "countRetrying": countRetrying, "countPaused": countPaused,
		"oldestHeld": oldestHeld, "oldestWaiting": oldestWaiting, "countHeldKeys": countHeldKeys,
		"readClock": readClock, "readLeases": readLeases, "readCounters": readCounters,
		"readRelays": readRelays, "readPartitions": readPartitions,
		"insertPause": insertPause, "deletePause": deletePause, "readPauses": readPauses,
		"countTotal": countTotal,
		"pausedPage": pausedPage, "putBack": putBack,
		"dueByTopic": dueByTopic, "longestDue": longestDue,
		"insertMessage": insertMessage, "oldMessages": oldMessages, "purgeMessages": purgeMessages,
		"oldestNumber": oldestNumber, "nextEpoch": nextEpoch, "feedPage": feedPage, "feedSizes": feedSizes, "feedEvents": feedEvents, "nextWhole": nextWhole,
		"lockFeed": lockFeed, "insertCursor": insertCursor, "touchCursor": touchCursor, "holdCursor": holdCursor, "moveCursor": moveCursor,
		"readCursor": readCursor, "deleteCursor": deleteCursor, "readCursors": readCursors,
		"purgeBegins": purgeBegins, "lowestReader": lowestReader, "lowestOwed": lowestOwed, "feedBegins": feedBegins, "purgeFeed": purgeFeed,
		"stillPublished": stillPublished, "publishedAgain": publishedAgain,
		"publishedPage": publishedPage, "countBehind": countBehind, "insertFill": insertFill, "readFill": readFill, "lockFill": lockFill,
		"moveFill": moveFill, "markFill": markFill, "endFill": endFill, "lockUnnumbered": lockUnnumbered, "setNumbers": setNumbers,
		"highestSeq": highestSeq, "handlersBegin": handlersBegin, "notesInHand": notesInHand, "lastDelivered": lastDelivered, "latelyDelivered": latelyDelivered,
		"heldKeys": heldKeys + heldPage, "heldKeys of one": heldKeys + heldKey + heldPage,
	})
}
