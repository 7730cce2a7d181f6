package webhook

import (
	"testing"

	"github.com/sqloutbox/sqloutbox/internal/golden"
)

func TestStatementsAreHeldInGoldenFiles(t *testing.T) {
	golden.Check(t, map[string]string{
		"insertIDs": insertIDs, "takeID": takeID, "takenID": takenID, "raiseIDs": raiseIDs, "lockState": lockState,
		"insertSubscription": insertSubscription, "updateSubscription": updateSubscription, "updateHeaders": updateHeaders,
		"pauseSubscription": pauseSubscription, "resumeSubscription": resumeSubscription, "readSecrets": readSecrets, "updateSecrets": updateSecrets,
		"markDeleted": markDeleted, "findSubscription": findSubscription, "readInfos": readInfos, "countDeliveries": countDeliveries,
		"listDeliveries": listDeliveries, "settledDeliveries": settledDeliveries, "sendAgain": sendAgain, "holdFirst": holdFirst, "keepFirst": keepFirst, "freeFirst": freeFirst, "probe": probe,
		"nextInOrder": nextInOrder, "nextDue": nextDue, "claimDeliveries": claimDeliveries, "unclaim": unclaim,
		"recordDone": recordDone, "recordDead": recordDead, "recordAgain": recordAgain, "giveBack": giveBack,
		"endpointWorks": endpointWorks, "endpointFails": endpointFails, "endpointRests": endpointRests,
		"readEndpoint": readEndpoint, "readEvents": readEvents, "readPayload": readPayload, "readVersion": readVersion, "wasGone": wasGone,
		"whoFails": whoFails, "disableSubscription": disableSubscription,
		"sweepList": sweepList, "oldDeliveries": oldDeliveries, "dropDeliveries": dropDeliveries, "expire": expire,
		"lockPurge": lockPurge, "lockTopics": lockTopics, "published": published, "delivered": delivered, "readInfo": readInfo, "selectInfos": selectInfos,
		"openMissed": openMissed, "closeMissed": closeMissed, "insertMissed": insertMissed, "deleteMissed": deleteMissed, "listMissed": listMissed,
		"oldestPlace":   oldestPlace,
		"anyDeliveries": anyDeliveries, "dropAny": dropAny, "dropSubscribed": dropSubscribed,
	})
}
