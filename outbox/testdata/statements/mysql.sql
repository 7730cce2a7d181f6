-- countDead
SELECT COUNT(*) FROM outbox_events FORCE INDEX (outbox_events_pending) WHERE state = 2;

-- countDue
SELECT COUNT(*) FROM outbox_events FORCE INDEX (outbox_events_due) WHERE state = 0 AND due_ms <= ?;

-- countPending
SELECT COUNT(*) FROM outbox_events FORCE INDEX (outbox_events_pending) WHERE state = 0;

-- countPublished
SELECT COUNT(*) FROM outbox_events FORCE INDEX (outbox_events_pending) WHERE state = 1;

-- countScheduled
SELECT COUNT(*) FROM outbox_events FORCE INDEX (outbox_events_pending) WHERE state = 3;

-- deadColumns
SELECT seq, id, topic, event_key, headers, payload, attempts, total_attempts, last_error,
       created_ms, first_failed_ms, settled_ms FROM outbox_events FORCE INDEX (outbox_events_pending)
WHERE state = 2 AND seq > ? AND settled_ms >= ? AND settled_ms < ? AND topic = ? ORDER BY seq LIMIT ?;

-- deadSeqs
SELECT seq FROM outbox_events FORCE INDEX (outbox_events_pending)
WHERE state = 2 AND seq > ? AND settled_ms >= ? AND settled_ms < ? ORDER BY seq LIMIT ?;

-- discardSeqs
DELETE outbox_events FROM outbox_events FORCE INDEX (PRIMARY) WHERE seq IN (?, ?) AND state = 2;

-- insertLater
INSERT INTO outbox_events (id, topic, event_key, partition_no, headers, payload, state, due_ms) VALUES (?, ?, ?, ?, ?, ?, 3, (TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) DIV 1000) + ?), (?, ?, ?, ?, ?, ?, 3, (TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) DIV 1000) + ?);

-- insertNow
INSERT INTO outbox_events (id, topic, event_key, partition_no, headers, payload) VALUES (?, ?, ?, ?, ?, ?), (?, ?, ?, ?, ?, ?);

-- insertNow ignoring duplicates
INSERT INTO outbox_events (id, topic, event_key, partition_no, headers, payload) VALUES (?, ?, ?, ?, ?, ?), (?, ?, ?, ?, ?, ?) ON DUPLICATE KEY UPDATE id = id;

-- oldDead
SELECT seq FROM outbox_events FORCE INDEX (outbox_events_due) WHERE state = 2 AND due_ms < ? ORDER BY due_ms, seq LIMIT ? FOR UPDATE SKIP LOCKED;

-- oldPublished
SELECT seq FROM outbox_events FORCE INDEX (outbox_events_due) WHERE state = 1 AND due_ms < ? ORDER BY due_ms, seq LIMIT ? FOR UPDATE SKIP LOCKED;

-- oldestPending
SELECT created_ms FROM outbox_events WHERE seq = (SELECT MIN(seq) FROM outbox_events FORCE INDEX (outbox_events_pending) WHERE state = 0);

-- purgeDead
DELETE outbox_events FROM outbox_events FORCE INDEX (PRIMARY) WHERE seq IN (?, ?) AND state = 2;

-- purgePublished
DELETE outbox_events FROM outbox_events FORCE INDEX (PRIMARY) WHERE seq IN (?, ?) AND state = 1;

-- readClock
SELECT (TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) DIV 1000);

-- readLeases
SELECT l.name, l.owner, COALESCE(r.host, ''), COALESCE(r.process, 0), l.token, l.since_ms, l.until_ms
FROM outbox_leases l LEFT JOIN outbox_relays r ON r.id = l.owner ORDER BY l.name;

-- requeueSeqs
UPDATE outbox_events FORCE INDEX (PRIMARY)
SET state = 0, attempts = 0, first_failed_ms = 0, settled_ms = 0, claimed_by = '', due_ms = (TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) DIV 1000)
WHERE seq IN (?, ?) AND state = 2;

-- seqsOfIDs
SELECT seq FROM outbox_events WHERE id IN (?, ?) AND state = 2 ORDER BY seq;

