-- countDead
SELECT COUNT(*) FROM outbox_events INDEXED BY outbox_events_pending WHERE state = 2;

-- countDue
SELECT COUNT(*) FROM outbox_events INDEXED BY outbox_events_due WHERE state = 0 AND due_ms <= ?;

-- countPending
SELECT COUNT(*) FROM outbox_events INDEXED BY outbox_events_pending WHERE state = 0;

-- countPublished
SELECT COUNT(*) FROM outbox_events INDEXED BY outbox_events_pending WHERE state = 1;

-- countScheduled
SELECT COUNT(*) FROM outbox_events INDEXED BY outbox_events_pending WHERE state = 3;

-- deadColumns
SELECT seq, id, topic, event_key, headers, payload, attempts, total_attempts, last_error,
       created_ms, first_failed_ms, settled_ms FROM outbox_events INDEXED BY outbox_events_pending
WHERE state = 2 AND seq > ? AND settled_ms >= ? AND settled_ms < ? AND topic = ? ORDER BY seq LIMIT ?;

-- deadSeqs
SELECT seq FROM outbox_events INDEXED BY outbox_events_pending
WHERE state = 2 AND seq > ? AND settled_ms >= ? AND settled_ms < ? ORDER BY seq LIMIT ?;

-- discardSeqs
DELETE FROM outbox_events WHERE seq IN (?, ?) AND state = 2;

-- insertLater
INSERT INTO outbox_events (id, topic, event_key, partition_no, headers, payload, state, due_ms) VALUES (?, ?, ?, ?, ?, ?, 3, (CAST(unixepoch('subsec') * 1000 AS INTEGER)) + ?), (?, ?, ?, ?, ?, ?, 3, (CAST(unixepoch('subsec') * 1000 AS INTEGER)) + ?);

-- insertNow
INSERT INTO outbox_events (id, topic, event_key, partition_no, headers, payload) VALUES (?, ?, ?, ?, ?, ?), (?, ?, ?, ?, ?, ?);

-- insertNow ignoring duplicates
INSERT INTO outbox_events (id, topic, event_key, partition_no, headers, payload) VALUES (?, ?, ?, ?, ?, ?), (?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING;

-- oldDead
SELECT seq FROM outbox_events INDEXED BY outbox_events_due WHERE state = 2 AND due_ms < ? ORDER BY due_ms, seq LIMIT ?;

-- oldPublished
SELECT seq FROM outbox_events INDEXED BY outbox_events_due WHERE state = 1 AND due_ms < ? ORDER BY due_ms, seq LIMIT ?;

-- oldestPending
SELECT created_ms FROM outbox_events WHERE seq = (SELECT MIN(seq) FROM outbox_events INDEXED BY outbox_events_pending WHERE state = 0);

-- purgeDead
DELETE FROM outbox_events WHERE seq IN (?, ?) AND state = 2;

-- purgePublished
DELETE FROM outbox_events WHERE seq IN (?, ?) AND state = 1;

-- readClock
SELECT (CAST(unixepoch('subsec') * 1000 AS INTEGER));

-- readLeases
SELECT l.name, l.owner, COALESCE(r.host, ''), COALESCE(r.process, 0), l.token, l.since_ms, l.until_ms
FROM outbox_leases l LEFT JOIN outbox_relays r ON r.id = l.owner ORDER BY l.name;

-- requeueSeqs
UPDATE outbox_events
SET state = 0, attempts = 0, first_failed_ms = 0, settled_ms = 0, claimed_by = '', due_ms = (CAST(unixepoch('subsec') * 1000 AS INTEGER))
WHERE seq IN (?, ?) AND state = 2;

-- seqsOfIDs
SELECT seq FROM outbox_events WHERE id IN (?, ?) AND state = 2 ORDER BY seq;

