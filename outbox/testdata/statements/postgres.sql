-- countDead
SELECT COUNT(*) FROM outbox_events WHERE state = 2;

-- countDue
SELECT COUNT(*) FROM outbox_events WHERE state = 0 AND due_ms <= $1;

-- countPending
SELECT COUNT(*) FROM outbox_events WHERE state = 0;

-- countPublished
SELECT COUNT(*) FROM outbox_events WHERE state = 1;

-- countScheduled
SELECT COUNT(*) FROM outbox_events WHERE state = 3;

-- deadColumns
SELECT seq, id, topic, event_key, headers, payload, attempts, total_attempts, last_error,
       created_ms, first_failed_ms, settled_ms FROM outbox_events
WHERE state = 2 AND seq > $1 AND settled_ms >= $2 AND settled_ms < $3 AND topic = $4 ORDER BY seq LIMIT $5;

-- deadSeqs
SELECT seq FROM outbox_events
WHERE state = 2 AND seq > $1 AND settled_ms >= $2 AND settled_ms < $3 ORDER BY seq LIMIT $4;

-- discardSeqs
DELETE FROM outbox_events WHERE seq IN ($1, $2) AND state = 2;

-- insertLater
INSERT INTO outbox_events (id, topic, event_key, partition_no, headers, payload, state, due_ms) VALUES ($1, $2, $3, $4, $5, $6, 3, ((EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT) + $7), ($8, $9, $10, $11, $12, $13, 3, ((EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT) + $14);

-- insertNow
INSERT INTO outbox_events (id, topic, event_key, partition_no, headers, payload) VALUES ($1, $2, $3, $4, $5, $6), ($7, $8, $9, $10, $11, $12);

-- insertNow ignoring duplicates
INSERT INTO outbox_events (id, topic, event_key, partition_no, headers, payload) VALUES ($1, $2, $3, $4, $5, $6), ($7, $8, $9, $10, $11, $12) ON CONFLICT (id) DO NOTHING;

-- oldDead
SELECT seq FROM outbox_events WHERE state = 2 AND due_ms < $1 ORDER BY due_ms, seq LIMIT $2 FOR UPDATE SKIP LOCKED;

-- oldPublished
SELECT seq FROM outbox_events WHERE state = 1 AND due_ms < $1 ORDER BY due_ms, seq LIMIT $2 FOR UPDATE SKIP LOCKED;

-- oldestPending
SELECT created_ms FROM outbox_events WHERE seq = (SELECT MIN(seq) FROM outbox_events WHERE state = 0);

-- purgeDead
DELETE FROM outbox_events WHERE seq IN ($1, $2) AND state = 2;

-- purgePublished
DELETE FROM outbox_events WHERE seq IN ($1, $2) AND state = 1;

-- readClock
SELECT ((EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT);

-- readLeases
SELECT l.name, l.owner, COALESCE(r.host, ''), COALESCE(r.process, 0), l.token, l.since_ms, l.until_ms
FROM outbox_leases l LEFT JOIN outbox_relays r ON r.id = l.owner ORDER BY l.name;

-- requeueSeqs
UPDATE outbox_events
SET state = 0, attempts = 0, first_failed_ms = 0, settled_ms = 0, claimed_by = '', due_ms = ((EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT)
WHERE seq IN ($1, $2) AND state = 2;

-- seqsOfIDs
SELECT seq FROM outbox_events WHERE id IN ($1, $2) AND state = 2 ORDER BY seq;

