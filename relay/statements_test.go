package relay

import (
	"testing"

	"github.com/sqloutbox/sqloutbox/internal/golden"
)

func TestStatementsAreHeldInGoldenFiles(t *testing.T) {
	golden.Check(t, map[string]string{
		"insertRelay": insertRelay, "beatRelay": beatRelay, "deleteRelay": deleteRelay,
		"deadRelays": deadRelays, "deleteDead": deleteDead, "lockRelay": lockRelay, "takeRelay": takeRelay,
		"insertLease": insertLease, "lookLease": lookLease, "lockLease": lockLease, "takeLease": takeLease,
		"extendLease": extendLease, "freeLease": freeLease, "freeUnknown": freeUnknown, "readClock": readClock,
		"makeCrash": makeCrash, "crashes": crashes, "countSuspects": countSuspects, "explainCrash": explainCrash, "suspectList": suspectList, "lockEvent": lockEvent, "chargeEvent": chargeEvent, "chargeDead": chargeDead,
		"lookPending": lookPending, "lookBeside": lookBeside, "probe": probe, "oldestDead": oldestDead, "dueScheduled": dueScheduled,
		"promote": promote, "park": park,
		"fence": fence, "settleDelete": settleDelete, "settleKeep": settleKeep, "settleFailed": settleFailed,
		"settleDead": settleDead,
		"claimable":  claimable, "claimList": claimList, "correctAttempts": correctAttempts, "putOff": putOff,
		"buryClaimed": buryClaimed, "extendClaimed": extendClaimed, "claimedDelete": claimedDelete,
		"claimedKeep": claimedKeep, "claimedFailed": claimedFailed, "claimedDead": claimedDead,
		"claimedBack": claimedBack, "countClaimed": countClaimed,
	})
}
