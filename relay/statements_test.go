package relay

import (
	"strings"
	"testing"

	"github.com/sqloutbox/sqloutbox/internal/delivery"
	"github.com/sqloutbox/sqloutbox/internal/golden"
	"github.com/sqloutbox/sqloutbox/internal/registry"
)

func TestStatementsAreHeldInGoldenFiles(t *testing.T) {
	rows := func(statement, row string) string { return strings.Replace(statement, "{rows}", row+", "+row, 1) }
	inHand := func(statement string) string {
		return strings.ReplaceAll(statement, "{aside}", " AND NOT (seq >= ? AND seq <= ?)")
	}
	golden.Check(t, map[string]string{
		"insertRelay": insertRelay, "beatRelay": beatRelay, "deleteRelay": deleteRelay,
		"beatOwner": beatOwner, "otherOrder": otherOrder, "fallenRelays": fallenRelays, "stillFallen": stillFallen,
		"freeLeases": freeLeases, "lockRelay": lockRelay, "lockOwn": lockOwn, "takeRelay": takeRelay,
		"lookLease": lookLease, "lockLease": lockLease, "takeLease": takeLease,
		"extendLease": extendLease, "readClock": readClock,
		"makeCrash": makeCrash, "crashes": crashes, "insertCrash": insertCrash, "countSuspects": countSuspects, "explainCrash": explainCrash,
		"suspectList": suspectList, "lockEvent": lockEvent, "chargeEvent": chargeEvent,
		"lookPending": inHand(lookPending), "probe": probe, "oldestDead": oldestDead, "dueScheduled": dueScheduled,
		"promote": promote, "park": park,
		"fence": fence, "settleDelete": settleDelete, "settleKeep": settleKeep, "settleFailed": settleFailed,
		"bury": bury, "freeClaimed": freeClaimed,
		"readPauses": readPauses, "pausedEvents": pausedEvents, "pauseList": pauseList, "resumeList": resumeList,
		"behindAny": behindAny, "waitingAny": waitingAny, "heldAny": heldAny, "dropHeld": dropHeld,
		"insertHeld": rows(insertHeld, heldRow), "heldBySeqs": heldBySeqs, "deleteHeld": deleteHeld, "heldState": heldState,
		"heldKeys": heldKeys, "nextHeld": nextHeld, "putBehind": putBehind, "letGoList": letGoList,
		"waitFailed": waitFailed, "group": group,
		"lookKeys": inHand(lookKeys), "lookKeysFromTo": inHand(lookKeysFromTo), "lookKeysIn": inHand(lookKeysIn(2)), "lockMisplaced": lockMisplaced,
		"setPartition": setPartition, "waitAside": waitAside, "waitStuck": waitStuck,
		"dueWaiting": dueWaiting, "retry": retry, "probeKeys": probeKeys, "heldPage": heldPage, "deadPage": deadPage, "asidePage": asidePage,
		"firstPending": firstPending,
		"lookBehind":   tailText(lookBehind, byIndex, true), "lookBehindByRow": tailText(lookBehind, byRow, true), "lookBehindByKey": tailText(lookBehind, byKey, true),
		"lookBehindAndBetween": tailText(lookBehindAndBetween, byIndex, true), "lookBehindAndBetweenByKey": tailText(lookBehindAndBetween, byKey, true),
		"lookBelow":  tailText(lookBelow, byIndex, true),
		"lookAtKeys": lookAtKeys, "lookPast": strings.Replace(lookPast, "{beside}", "?, ?", 1),
		"unplaced": unplaced, "misfits": misfits, "lockMisfits": lockMisfits,
		"insertPartitions": rows(insertPartitions, partitionRow), "freePartitions": freePartitions, "stillFree": stillFree, "takePartitions": takePartitions,
		"givePartitions": givePartitions, "ownPartitions": ownPartitions,
		"claimable": claimable, "claimList": claimList, "correctAttempts": correctAttempts, "noteCrash": noteCrash, "putOff": putOff,
		"extendClaimed": extendClaimed, "claimedDelete": claimedDelete,
		"claimedKeep": claimedKeep, "claimedFailed": claimedFailed, "claimedDead": claimedDead,
		"claimedBack": claimedBack, "lockPending": lockPending, "postpone": postpone, "outstandingTopics": outstandingTopics, "dueAgain": dueAgain,
		"unnumbered": unnumbered, "unnumberedClaimed": unnumberedClaimed, "settleNumbered": settleNumbered, "claimedNumbered": claimedNumbered,
		"needed": needed, "countHandlers": countHandlers, "beginDelivery": beginDelivery, "newDelivery": newDelivery,
		"endDelivery": endDelivery, "readDelivery": readDelivery, "eventState": eventState, "noteDelivery": noteDelivery,
		"insertNote": insertNote, "dropDeliveries": delivery.Forget, "recordedBy": delivery.RecordedBy, "stillThere": stillThere,
		"insertHandler": insertHandler, "findHandler": findHandler, "setTopics": setTopics,
		"setReplayed": setReplayed, "nextSeq": nextSeq, "insertName": insertName, "readNames": registry.ReadNames, "decideHandler": decideHandler,
		"keptEvents": keptEvents, "replayList": replayList,
		"insertOutstanding": insertOutstanding, "leaveFailed": leaveFailed, "withOutstanding": withOutstanding, "outstanding": outstanding,
		"claimDelivery": claimDelivery, "failedSince": failedSince, "lockOutstanding": lockOutstanding, "takeBack": takeBack, "lockClaim": lockClaim, "renewClaim": renewClaim, "freeDelivery": freeDelivery, "dropOutstanding": dropOutstanding,
		"watchedOf": watchedOf, "chargeWatched": chargeWatched,
		"eventHistory": eventHistory, "readEvent": readEvent, "wakeEvent": wakeEvent,
	})
}
