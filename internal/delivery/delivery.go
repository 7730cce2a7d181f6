// Package delivery is what outbox and relay both know of deliveries: what became of an event in a handler.
package delivery

// States of a record.
const (
	None        = -1 // no row
	Outstanding = 0  // for a process that knows the handler
	Done        = 1
	Rejected    = 2
	Failed      = 3
	Dead        = 4
	Running     = 5 // in the handler's own transaction, and so seen by nobody else unless it commits by itself
	Watched     = 6 // called: noted ahead
)

const (
	// RecordedBy are the handlers that have a record of events. By the first column of the primary key, without a lock.
	RecordedBy = `SELECT DISTINCT handler FROM {deliveries} WHERE seq IN ({list})`

	// Forget deletes one handler's records of events. By the whole primary key, one handler after another: by its first
	// column alone MySQL would lock the record behind as well, and wait for the handler that has it. The first condition is for
	// MariaDB, which would read all of a small table.
	Forget = `{delete_deliveries} WHERE since_ms >= 0 AND handler = ? AND seq IN ({list})`
)
