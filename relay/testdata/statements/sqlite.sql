-- asidePage
SELECT seq, event_key FROM outbox_events INDEXED BY outbox_events_pending WHERE state > 5 AND state < 7 AND seq > ? ORDER BY state, seq LIMIT ?;

-- beatOwner
UPDATE outbox_relays SET seen_ms = (CAST(unixepoch('subsec') * 1000 AS INTEGER)), until_ms = (CAST(unixepoch('subsec') * 1000 AS INTEGER)) + ? WHERE id = ? AND until_ms > (CAST(unixepoch('subsec') * 1000 AS INTEGER));

-- beatRelay
UPDATE outbox_relays SET seen_ms = (CAST(unixepoch('subsec') * 1000 AS INTEGER)), until_ms = (CAST(unixepoch('subsec') * 1000 AS INTEGER)) + ? WHERE id = ?;

-- beginDelivery
UPDATE outbox_deliveries SET state = 5 WHERE seq = ? AND handler = ? AND state NOT IN (1, 2, 5);

-- behindAny
SELECT seq FROM outbox_events INDEXED BY outbox_events_pending WHERE state > 3 AND state < 5 ORDER BY state, seq LIMIT ?;

-- bury
UPDATE outbox_events SET attempts = attempts + ?, total_attempts = total_attempts + ?, state = 2,
       claimed_by = '', due_ms = (CAST(unixepoch('subsec') * 1000 AS INTEGER)), settled_ms = (CAST(unixepoch('subsec') * 1000 AS INTEGER)),
       first_failed_ms = CASE WHEN first_failed_ms = 0 THEN (CAST(unixepoch('subsec') * 1000 AS INTEGER)) ELSE first_failed_ms END, last_error = ?
WHERE seq = ? AND state = 0;

-- chargeEvent
UPDATE outbox_events SET attempts = attempts + ?, total_attempts = total_attempts + ?, claimed_by = '!',
       first_failed_ms = CASE WHEN first_failed_ms = 0 THEN (CAST(unixepoch('subsec') * 1000 AS INTEGER)) ELSE first_failed_ms END, last_error = ?
WHERE seq = ? AND state = 0;

-- chargeWatched
UPDATE outbox_deliveries SET attempts = attempts + 1 WHERE seq = ? AND handler = ? AND state = 6;

-- claimDelivery
UPDATE outbox_deliveries SET attempts = ?, settled_ms = ?, due_ms = (CAST(unixepoch('subsec') * 1000 AS INTEGER)) + ?
WHERE seq = ? AND handler = ? AND state = 0 AND attempts = ? AND settled_ms = ?;

-- claimList
UPDATE outbox_events SET attempts = attempts + 1, total_attempts = total_attempts + 1,
       claim_token = claim_token + 1, claimed_by = ?, due_ms = (CAST(unixepoch('subsec') * 1000 AS INTEGER)) + ?
WHERE seq IN (?, ?) AND state = 0;

-- claimable
SELECT seq, id, topic, event_key, partition_no, headers, payload, created_ms,
       CASE WHEN (due_ms <= created_ms OR due_ms <= (SELECT (CAST(unixepoch('subsec') * 1000 AS INTEGER)))) AND attempts = 0 AND total_attempts = 0 AND first_failed_ms = 0 AND claim_token = 0
                 AND claimed_by = '' THEN 1 ELSE 0 END, due_ms
FROM outbox_events INDEXED BY outbox_events_due WHERE state = 0 AND due_ms >= ? AND due_ms <= (SELECT (CAST(unixepoch('subsec') * 1000 AS INTEGER))) ORDER BY due_ms, seq LIMIT ?;

-- claimedBack
UPDATE outbox_events SET claimed_by = '', due_ms = (CAST(unixepoch('subsec') * 1000 AS INTEGER)) + ?, attempts = attempts - 1,
       total_attempts = total_attempts - 1
WHERE seq IN (?, ?) AND claimed_by = ? AND state = 0;

-- claimedDead
UPDATE outbox_events SET claimed_by = '', state = 2, due_ms = (CAST(unixepoch('subsec') * 1000 AS INTEGER)), settled_ms = (CAST(unixepoch('subsec') * 1000 AS INTEGER)),
       first_failed_ms = CASE WHEN first_failed_ms = 0 THEN (CAST(unixepoch('subsec') * 1000 AS INTEGER)) ELSE first_failed_ms END, last_error = ?
WHERE seq = ? AND claimed_by = ? AND state = 0;

-- claimedDelete
DELETE FROM outbox_events WHERE seq IN (?, ?) AND claimed_by = ? AND state = 0;

-- claimedFailed
UPDATE outbox_events SET claimed_by = '', due_ms = (CAST(unixepoch('subsec') * 1000 AS INTEGER)) + ?,
       first_failed_ms = CASE WHEN first_failed_ms = 0 THEN (CAST(unixepoch('subsec') * 1000 AS INTEGER)) ELSE first_failed_ms END, last_error = ?
WHERE seq = ? AND claimed_by = ? AND state = 0;

-- claimedKeep
UPDATE outbox_events SET state = 1, claimed_by = '', due_ms = (CAST(unixepoch('subsec') * 1000 AS INTEGER)), settled_ms = (CAST(unixepoch('subsec') * 1000 AS INTEGER))
WHERE seq IN (?, ?) AND claimed_by = ? AND state = 0;

-- claimedNumbered
UPDATE outbox_events SET state = 1, claimed_by = '', due_ms = (CAST(unixepoch('subsec') * 1000 AS INTEGER)), settled_ms = (CAST(unixepoch('subsec') * 1000 AS INTEGER)), feed_seq = CASE WHEN feed_seq > 0 THEN feed_seq ELSE (SELECT f.feed_seq FROM outbox_feed f WHERE f.seq = outbox_events.seq) END
WHERE seq IN (?, ?) AND claimed_by = ? AND state = 0;

-- correctAttempts
UPDATE outbox_events SET attempts = attempts + ?, total_attempts = total_attempts + ? WHERE seq = ? AND state = 0;

-- countHandlers
SELECT COUNT(*) FROM outbox_handlers;

-- countSuspects
SELECT COUNT(*) FROM outbox_events WHERE seq IN (?, ?) AND claimed_by = ?;

-- crashes
SELECT id FROM outbox_relays WHERE order_name = 'crash' AND until_ms <= (CAST(unixepoch('subsec') * 1000 AS INTEGER));

-- deadPage
SELECT seq, event_key FROM outbox_events INDEXED BY outbox_events_pending WHERE state > 1 AND state < 3 AND seq > ? ORDER BY state, seq LIMIT ?;

-- decideHandler
UPDATE outbox_handlers SET from_seq = (SELECT COALESCE(MAX(seq), 0) + 1 FROM outbox_events) WHERE name = ? AND from_seq < 0;

-- deleteHeld
DELETE FROM outbox_held WHERE seq = ?;

-- deleteRelay
DELETE FROM outbox_relays WHERE id = ?;

-- dropDeliveries
DELETE FROM outbox_deliveries WHERE since_ms >= 0 AND handler = ? AND seq IN (?, ?);

-- dropHeld
DELETE FROM outbox_held WHERE seq IN (?, ?);

-- dropOutstanding
DELETE FROM outbox_deliveries WHERE seq = ? AND handler = ? AND state = 0;

-- dueAgain
UPDATE outbox_events SET due_ms = (CAST(unixepoch('subsec') * 1000 AS INTEGER)) WHERE seq = ? AND state IN (0, 5);

-- dueScheduled
SELECT seq FROM outbox_events INDEXED BY outbox_events_due WHERE state = 3 AND due_ms <= ? ORDER BY due_ms, seq LIMIT ?;

-- dueWaiting
SELECT seq FROM outbox_events INDEXED BY outbox_events_due WHERE state = 5 AND due_ms <= ? ORDER BY due_ms, seq LIMIT ?;

-- endDelivery
UPDATE outbox_deliveries SET state = 1, attempts = ?, last_error = '', due_ms = 0, settled_ms = (CAST(unixepoch('subsec') * 1000 AS INTEGER))
WHERE seq = ? AND handler = ? AND state = 5;

-- eventHistory
SELECT seq, due_ms, attempts, total_attempts, first_failed_ms, claim_token, claimed_by, (SELECT (CAST(unixepoch('subsec') * 1000 AS INTEGER)))
FROM outbox_events WHERE seq IN (?, ?);

-- eventState
SELECT state FROM outbox_events WHERE seq = ?;

-- explainCrash
UPDATE outbox_relays SET in_hand = ?, version = version + 1 WHERE id = ?;

-- extendClaimed
UPDATE outbox_events SET due_ms = (CAST(unixepoch('subsec') * 1000 AS INTEGER)) + ?
WHERE seq IN (?, ?) AND claimed_by = ? AND state = 0 AND due_ms > (CAST(unixepoch('subsec') * 1000 AS INTEGER));

-- extendLease
UPDATE outbox_leases SET until_ms = (CAST(unixepoch('subsec') * 1000 AS INTEGER)) + ?, version = version + 1
WHERE name = ? AND owner = ? AND token = ? AND until_ms > (CAST(unixepoch('subsec') * 1000 AS INTEGER));

-- failedSince
UPDATE outbox_deliveries SET since_ms = ? WHERE seq = ? AND handler = ? AND state = 0;

-- fallenRelays
SELECT id FROM outbox_relays WHERE order_name <> 'crash' AND (until_ms <= (CAST(unixepoch('subsec') * 1000 AS INTEGER)) OR until_ms > (CAST(unixepoch('subsec') * 1000 AS INTEGER)) + 2 * (until_ms - seen_ms)) ORDER BY id;

-- fence
UPDATE outbox_relays SET in_hand = ?, version = version + 1 WHERE id = ? AND token = ? AND version = ?;

-- findHandler
SELECT topics, retired_ms, from_seq, replayed_to FROM outbox_handlers WHERE name = ?;

-- firstPending
SELECT seq, attempts, due_ms, (CAST(unixepoch('subsec') * 1000 AS INTEGER)) FROM outbox_events INDEXED BY outbox_events_pending WHERE state <= 0 ORDER BY state, seq LIMIT 1;

-- freeClaimed
UPDATE outbox_events SET attempts = attempts + ?, total_attempts = total_attempts + ?, claimed_by = ?
WHERE seq = ? AND state = 0;

-- freeDelivery
UPDATE outbox_deliveries SET attempts = ?, settled_ms = ?, due_ms = (CAST(unixepoch('subsec') * 1000 AS INTEGER)) + ?, last_error = ?,
       since_ms = CASE WHEN ? = 1 THEN (CAST(unixepoch('subsec') * 1000 AS INTEGER)) ELSE since_ms END
WHERE seq = ? AND handler = ? AND state = 0 AND settled_ms = ?;

-- freeLeases
UPDATE outbox_leases SET owner = '', until_ms = 0, version = version + 1 WHERE owner = ?;

-- freePartitions
SELECT name FROM outbox_leases WHERE name LIKE 'key/%'
AND (owner = '' OR owner NOT IN (SELECT id FROM outbox_relays)) ORDER BY name LIMIT ?;

-- givePartitions
UPDATE outbox_leases SET owner = '', version = version + 1 WHERE name IN (?, ?) AND owner = ?;

-- group
SELECT seq FROM outbox_events INDEXED BY outbox_events_due WHERE state = 4 AND due_ms = ? AND seq <= ? AND event_key = ?
ORDER BY due_ms, seq LIMIT ?;

-- heldAny
SELECT seq FROM outbox_held ORDER BY seq LIMIT ?;

-- heldBySeqs
SELECT seq, event_key, partition_no FROM outbox_held WHERE seq IN (?, ?) ORDER BY seq;

-- heldKeys
SELECT event_key, MIN(seq) FROM outbox_held WHERE event_key IN (?, ?) GROUP BY event_key;

-- heldPage
SELECT h.seq, h.event_key, h.partition_no, COALESCE(e.state, -1) FROM outbox_held h LEFT JOIN outbox_events e ON e.seq = h.seq
WHERE h.seq > ? ORDER BY h.seq LIMIT ?;

-- heldState
SELECT state FROM outbox_events WHERE seq = ?;

-- insertCrash
INSERT INTO outbox_relays (id, order_name, until_ms, in_hand) VALUES (?, 'crash', (CAST(unixepoch('subsec') * 1000 AS INTEGER)) + 86400000, ?);

-- insertHandler
INSERT INTO outbox_handlers (name, topics, from_seq, since_ms) VALUES (?, ?, ?, (CAST(unixepoch('subsec') * 1000 AS INTEGER))) ON CONFLICT (name) DO NOTHING;

-- insertHeld
INSERT INTO outbox_held (seq, event_key, partition_no, since_ms) VALUES (?, ?, ?, (CAST(unixepoch('subsec') * 1000 AS INTEGER))), (?, ?, ?, (CAST(unixepoch('subsec') * 1000 AS INTEGER))) ON CONFLICT (seq) DO NOTHING;

-- insertName
INSERT INTO outbox_handlers (name, former_name, topics, from_seq, since_ms) VALUES (?, ?, ?, 0, (CAST(unixepoch('subsec') * 1000 AS INTEGER))) ON CONFLICT (name) DO NOTHING;

-- insertNote
INSERT INTO outbox_deliveries (state, attempts, last_error, due_ms, handler, seq, since_ms, settled_ms)
SELECT ?, ?, ?, (CAST(unixepoch('subsec') * 1000 AS INTEGER)) + ?, ?, seq, (CAST(unixepoch('subsec') * 1000 AS INTEGER)), (CAST(unixepoch('subsec') * 1000 AS INTEGER)) FROM outbox_events WHERE seq = ?;

-- insertOutstanding
INSERT INTO outbox_deliveries (settled_ms, attempts, handler, seq, state, due_ms, since_ms)
SELECT ?, ?, ?, seq, 0, (CAST(unixepoch('subsec') * 1000 AS INTEGER)), (CAST(unixepoch('subsec') * 1000 AS INTEGER)) FROM outbox_events WHERE seq = ?;

-- insertPartitions
INSERT INTO outbox_leases (name) VALUES (?), (?) ON CONFLICT (name) DO NOTHING;

-- insertRelay
INSERT INTO outbox_relays (id, host, process, order_name, since_ms, seen_ms, until_ms)
VALUES (?, ?, ?, ?, (CAST(unixepoch('subsec') * 1000 AS INTEGER)), (CAST(unixepoch('subsec') * 1000 AS INTEGER)), (CAST(unixepoch('subsec') * 1000 AS INTEGER)) + ?);

-- keptEvents
SELECT seq, topic, CASE WHEN EXISTS (SELECT 1 FROM outbox_deliveries d WHERE d.seq = e.seq AND d.handler = ?) THEN 1 ELSE 0 END
FROM (SELECT seq, topic FROM outbox_events INDEXED BY outbox_events_pending WHERE state > 0 AND state < 2 AND seq > ? ORDER BY state, seq LIMIT ?) e;

-- leaveFailed
UPDATE outbox_deliveries SET settled_ms = CASE WHEN state = 6 THEN -1 ELSE ? END,
    attempts = CASE WHEN state = 6 THEN attempts ELSE attempts + ? END, state = 0
WHERE handler = ? AND seq = ? AND state IN (3, 6);

-- letGoList
UPDATE outbox_events SET state = 0, due_ms = created_ms WHERE seq IN (?, ?) AND state = 4;

-- lockClaim
SELECT seq FROM outbox_deliveries WHERE seq = ? AND handler = ? AND state = 0 AND settled_ms = ?;

-- lockEvent
SELECT id, topic, event_key, attempts, first_failed_ms, claimed_by FROM outbox_events WHERE seq = ? AND state = 0;

-- lockLease
SELECT owner, token, until_ms, lease_ms FROM outbox_leases WHERE name = ?;

-- lockMisfits
SELECT seq FROM outbox_events WHERE seq IN (?, ?) AND state = 0 AND (partition_no < -1 OR partition_no > 63);

-- lockMisplaced
SELECT seq FROM outbox_events WHERE seq IN (?, ?) AND state = 0;

-- lockOutstanding
SELECT seq FROM outbox_deliveries
WHERE seq = ? AND handler = ? AND state = 0 AND attempts = ? AND settled_ms = ? AND due_ms <= (SELECT (CAST(unixepoch('subsec') * 1000 AS INTEGER)));

-- lockOwn
SELECT in_hand, version FROM outbox_relays WHERE id = ? AND order_name <> 'crash';

-- lockPending
SELECT seq, claimed_by FROM outbox_events WHERE seq IN (?, ?) AND state = 0;

-- lockRelay
SELECT in_hand FROM outbox_relays WHERE id = ?;

-- lookAtKeys
SELECT seq, event_key, created_ms, due_ms, attempts, (SELECT (CAST(unixepoch('subsec') * 1000 AS INTEGER))) FROM outbox_events INDEXED BY outbox_events_pending
WHERE state <= 0 AND seq > ? AND partition_no IN (?, ?) ORDER BY state, seq LIMIT ?;

-- lookBehind
SELECT seq, id, topic, event_key, partition_no, headers, payload, created_ms,
       CASE WHEN (due_ms <= created_ms OR due_ms <= (SELECT (CAST(unixepoch('subsec') * 1000 AS INTEGER)))) AND attempts = 0 AND total_attempts = 0 AND first_failed_ms = 0 AND claim_token = 0
                 AND claimed_by = '' THEN 1 ELSE 0 END
FROM outbox_events INDEXED BY outbox_events_pending WHERE state = 0 AND seq > ? AND partition_no >= ? AND partition_no <= ? AND (SELECT seq FROM outbox_events INDEXED BY outbox_events_pending WHERE state = 0 AND seq < ? AND partition_no >= ? AND partition_no <= ? ORDER BY state DESC, seq DESC LIMIT 1) IS NULL ORDER BY state, seq LIMIT ?;

-- lookBehindAndBetween
SELECT * FROM (SELECT seq, id, topic, event_key, partition_no, headers, payload, created_ms,
       CASE WHEN (due_ms <= created_ms OR due_ms <= (SELECT (CAST(unixepoch('subsec') * 1000 AS INTEGER)))) AND attempts = 0 AND total_attempts = 0 AND first_failed_ms = 0 AND claim_token = 0
                 AND claimed_by = '' THEN 1 ELSE 0 END
FROM outbox_events WHERE seq IN (?, ?) AND state + 0 = 0 AND partition_no + 0 >= ? AND partition_no + 0 <= ? UNION ALL
SELECT * FROM (SELECT seq, id, topic, event_key, partition_no, headers, payload, created_ms,
       CASE WHEN (due_ms <= created_ms OR due_ms <= (SELECT (CAST(unixepoch('subsec') * 1000 AS INTEGER)))) AND attempts = 0 AND total_attempts = 0 AND first_failed_ms = 0 AND claim_token = 0
                 AND claimed_by = '' THEN 1 ELSE 0 END
FROM outbox_events INDEXED BY outbox_events_pending WHERE state = 0 AND seq > ? AND partition_no >= ? AND partition_no <= ? ORDER BY state, seq LIMIT ?) behind) found WHERE (SELECT seq FROM outbox_events INDEXED BY outbox_events_pending WHERE state = 0 AND seq < ? AND partition_no >= ? AND partition_no <= ? ORDER BY state DESC, seq DESC LIMIT 1) IS NULL;

-- lookBehindAndBetweenByKey
SELECT * FROM (SELECT seq, id, topic, event_key, partition_no, headers, payload, created_ms,
       CASE WHEN (due_ms <= created_ms OR due_ms <= (SELECT (CAST(unixepoch('subsec') * 1000 AS INTEGER)))) AND attempts = 0 AND total_attempts = 0 AND first_failed_ms = 0 AND claim_token = 0
                 AND claimed_by = '' THEN 1 ELSE 0 END
FROM outbox_events WHERE seq IN (?, ?) AND state + 0 = 0 AND partition_no + 0 >= ? AND partition_no + 0 <= ? UNION ALL
SELECT * FROM (SELECT seq, id, topic, event_key, partition_no, headers, payload, created_ms,
       CASE WHEN (due_ms <= created_ms OR due_ms <= (SELECT (CAST(unixepoch('subsec') * 1000 AS INTEGER)))) AND attempts = 0 AND total_attempts = 0 AND first_failed_ms = 0 AND claim_token = 0
                 AND claimed_by = '' THEN 1 ELSE 0 END
FROM outbox_events WHERE seq > ? AND seq <= ? AND state + 0 = 0 AND partition_no >= ? AND partition_no <= ? ORDER BY seq LIMIT ?) behind) found WHERE (SELECT seq FROM outbox_events INDEXED BY outbox_events_pending WHERE state = 0 AND seq < ? AND partition_no >= ? AND partition_no <= ? ORDER BY state DESC, seq DESC LIMIT 1) IS NULL;

-- lookBehindByKey
SELECT seq, id, topic, event_key, partition_no, headers, payload, created_ms,
       CASE WHEN (due_ms <= created_ms OR due_ms <= (SELECT (CAST(unixepoch('subsec') * 1000 AS INTEGER)))) AND attempts = 0 AND total_attempts = 0 AND first_failed_ms = 0 AND claim_token = 0
                 AND claimed_by = '' THEN 1 ELSE 0 END
FROM outbox_events WHERE seq > ? AND seq <= ? AND state + 0 = 0 AND partition_no >= ? AND partition_no <= ? AND (SELECT seq FROM outbox_events INDEXED BY outbox_events_pending WHERE state = 0 AND seq < ? AND partition_no >= ? AND partition_no <= ? ORDER BY state DESC, seq DESC LIMIT 1) IS NULL ORDER BY seq LIMIT ?;

-- lookBehindByRow
SELECT seq, id, topic, event_key, partition_no, headers, payload, created_ms,
       CASE WHEN (due_ms <= created_ms OR due_ms <= (SELECT (CAST(unixepoch('subsec') * 1000 AS INTEGER)))) AND attempts = 0 AND total_attempts = 0 AND first_failed_ms = 0 AND claim_token = 0
                 AND claimed_by = '' THEN 1 ELSE 0 END
FROM outbox_events INDEXED BY outbox_events_pending WHERE state <= 0 AND (state, seq) > (0, ?) AND partition_no >= ? AND partition_no <= ? AND (SELECT seq FROM outbox_events INDEXED BY outbox_events_pending WHERE state <= 0 AND (state, seq) < (0, ?) AND partition_no >= ? AND partition_no <= ? ORDER BY state DESC, seq DESC LIMIT 1) IS NULL ORDER BY state, seq LIMIT ?;

-- lookBelow
SELECT CASE WHEN (SELECT seq FROM outbox_events INDEXED BY outbox_events_pending WHERE state = 0 AND seq < ? AND partition_no >= ? AND partition_no <= ? ORDER BY state DESC, seq DESC LIMIT 1) IS NULL THEN 0 ELSE 1 END;

-- lookKeys
SELECT seq, id, topic, event_key, partition_no, headers, payload, created_ms,
       CASE WHEN (due_ms <= created_ms OR due_ms <= (SELECT (CAST(unixepoch('subsec') * 1000 AS INTEGER)))) AND attempts = 0 AND total_attempts = 0 AND first_failed_ms = 0 AND claim_token = 0
                 AND claimed_by = '' THEN 1 ELSE 0 END
FROM outbox_events INDEXED BY outbox_events_pending WHERE state <= 0 AND partition_no IN (?, ?) AND NOT (seq >= ? AND seq <= ?) ORDER BY state, seq LIMIT ?;

-- lookKeysFromTo
SELECT seq, id, topic, event_key, partition_no, headers, payload, created_ms,
       CASE WHEN (due_ms <= created_ms OR due_ms <= (SELECT (CAST(unixepoch('subsec') * 1000 AS INTEGER)))) AND attempts = 0 AND total_attempts = 0 AND first_failed_ms = 0 AND claim_token = 0
                 AND claimed_by = '' THEN 1 ELSE 0 END
FROM outbox_events INDEXED BY outbox_events_pending WHERE state <= 0 AND partition_no >= ? AND partition_no <= ? AND NOT (seq >= ? AND seq <= ?) ORDER BY state, seq LIMIT ?;

-- lookKeysIn
SELECT seq, id, topic, event_key, partition_no, headers, payload, created_ms,
       CASE WHEN (due_ms <= created_ms OR due_ms <= (SELECT (CAST(unixepoch('subsec') * 1000 AS INTEGER)))) AND attempts = 0 AND total_attempts = 0 AND first_failed_ms = 0 AND claim_token = 0
                 AND claimed_by = '' THEN 1 ELSE 0 END
FROM ((SELECT *
FROM outbox_events INDEXED BY outbox_events_pending WHERE state <= 0 AND partition_no >= ? AND partition_no <= ? AND NOT (seq >= ? AND seq <= ?) ORDER BY state, seq LIMIT ?) UNION ALL
(SELECT *
FROM outbox_events INDEXED BY outbox_events_pending WHERE state <= 0 AND partition_no >= ? AND partition_no <= ? AND NOT (seq >= ? AND seq <= ?) ORDER BY state, seq LIMIT ?)) found ORDER BY state, seq LIMIT ?;

-- lookLease
SELECT owner, token, until_ms, lease_ms, (CAST(unixepoch('subsec') * 1000 AS INTEGER)) FROM outbox_leases WHERE name = ?;

-- lookPast
SELECT seq, id, topic, event_key, partition_no, headers, payload, created_ms,
       CASE WHEN (due_ms <= created_ms OR due_ms <= (SELECT (CAST(unixepoch('subsec') * 1000 AS INTEGER)))) AND attempts = 0 AND total_attempts = 0 AND first_failed_ms = 0 AND claim_token = 0
                 AND claimed_by = '' THEN 1 ELSE 0 END
FROM outbox_events INDEXED BY outbox_events_pending WHERE state <= 0 AND partition_no IN (?, ?) AND (seq <= ? OR event_key NOT IN (?, ?)) ORDER BY state, seq LIMIT ?;

-- lookPending
SELECT seq, id, topic, event_key, partition_no, headers, payload, created_ms,
       CASE WHEN (due_ms <= created_ms OR due_ms <= (SELECT (CAST(unixepoch('subsec') * 1000 AS INTEGER)))) AND attempts = 0 AND total_attempts = 0 AND first_failed_ms = 0 AND claim_token = 0
                 AND claimed_by = '' THEN 1 ELSE 0 END
FROM outbox_events INDEXED BY outbox_events_pending WHERE state <= 0 AND NOT (seq >= ? AND seq <= ?) ORDER BY state, seq LIMIT ?;

-- makeCrash
UPDATE outbox_relays SET order_name = 'crash', token = 0, until_ms = 0, in_hand = ?, version = version + 1
WHERE id = ?;

-- misfits
SELECT seq FROM outbox_events INDEXED BY outbox_events_pending WHERE state <= 0 AND (partition_no < -1 OR partition_no > 63)
ORDER BY state, seq LIMIT ?;

-- needed
SELECT h.name, h.topics, h.former_name, h.from_seq, h.retired_ms, COALESCE(d.state, -1),
       COALESCE(d.attempts, 0), COALESCE(d.since_ms, 0), COALESCE(d.due_ms - (SELECT (CAST(unixepoch('subsec') * 1000 AS INTEGER))), 0), COALESCE(d.settled_ms, 0),
       COALESCE(d.last_error, '')
FROM outbox_handlers h LEFT JOIN outbox_deliveries d ON d.seq = ? AND d.handler = h.name
ORDER BY h.since_ms, h.name;

-- newDelivery
INSERT INTO outbox_deliveries (seq, handler, state, since_ms) VALUES (?, ?, 5, (CAST(unixepoch('subsec') * 1000 AS INTEGER)));

-- nextHeld
SELECT MIN(seq) FROM outbox_held WHERE event_key = ?;

-- nextSeq
SELECT COALESCE(MAX(seq), 0) + 1 FROM outbox_events;

-- noteCrash
UPDATE outbox_events SET attempts = attempts + ?, total_attempts = total_attempts + ?,
       first_failed_ms = CASE WHEN first_failed_ms = 0 THEN (CAST(unixepoch('subsec') * 1000 AS INTEGER)) ELSE first_failed_ms END, last_error = ?
WHERE seq = ? AND state = 0;

-- noteDelivery
UPDATE outbox_deliveries SET since_ms = CASE WHEN attempts = 0 AND ? > 0 THEN (CAST(unixepoch('subsec') * 1000 AS INTEGER)) ELSE since_ms END,
       state = ?, attempts = ?, last_error = ?, due_ms = (CAST(unixepoch('subsec') * 1000 AS INTEGER)) + ?, settled_ms = (CAST(unixepoch('subsec') * 1000 AS INTEGER))
WHERE seq = ? AND handler = ? AND state NOT IN (1, 2, ?);

-- oldestDead
SELECT seq FROM outbox_events INDEXED BY outbox_events_pending WHERE state > 1 AND state < 3 ORDER BY state, seq LIMIT 1;

-- otherOrder
SELECT id, host, process, order_name, seen_ms, until_ms - (CAST(unixepoch('subsec') * 1000 AS INTEGER)) FROM outbox_relays
WHERE order_name <> 'crash' AND order_name <> ? ORDER BY id;

-- outstanding
SELECT d.seq, d.attempts, d.settled_ms, d.since_ms, d.last_error, d.due_ms,
       COALESCE(e.topic, ''), COALESCE(e.event_key, ''), COALESCE(e.state, 1),
       CASE WHEN e.event_key <> '' AND EXISTS (SELECT 1 FROM outbox_held k WHERE k.event_key = e.event_key AND k.seq < e.seq) THEN 1 ELSE 0 END
FROM outbox_deliveries d LEFT JOIN outbox_events e ON e.seq = d.seq
WHERE d.handler = ? AND d.state = 0 AND d.due_ms <= (SELECT (CAST(unixepoch('subsec') * 1000 AS INTEGER))) AND d.due_ms >= ? AND (d.due_ms > ? OR d.seq > ?)
ORDER BY d.due_ms, d.seq LIMIT ?;

-- outstandingTopics
SELECT h.topics FROM outbox_deliveries d JOIN outbox_handlers h ON h.name = d.handler
WHERE d.seq = ? AND d.state = 0 AND h.retired_ms = 0;

-- ownPartitions
SELECT name, token FROM outbox_leases WHERE owner = ? AND name LIKE 'key/%' ORDER BY name;

-- park
UPDATE outbox_events SET state = 3 WHERE seq IN (?, ?) AND state = 0 AND attempts = 0;

-- pauseList
UPDATE outbox_events SET state = 6 WHERE seq IN (?, ?) AND state = 0;

-- pausedEvents
SELECT seq, topic FROM outbox_events INDEXED BY outbox_events_pending WHERE state > 5 AND state < 7 AND seq > ? ORDER BY state, seq LIMIT ?;

-- postpone
UPDATE outbox_events SET state = 5, partition_no = ?, claimed_by = '', due_ms = (CAST(unixepoch('subsec') * 1000 AS INTEGER)) + ?, last_error = ?
WHERE seq = ? AND state = 0;

-- probe
SELECT (SELECT due_ms FROM outbox_events INDEXED BY outbox_events_due WHERE state = 0 ORDER BY due_ms, seq LIMIT 1),
       (SELECT due_ms FROM outbox_events INDEXED BY outbox_events_due WHERE state = 3 ORDER BY due_ms, seq LIMIT 1),
       (SELECT due_ms FROM outbox_events INDEXED BY outbox_events_due WHERE state = 6 ORDER BY due_ms, seq LIMIT 1),
       (SELECT COUNT(*) FROM outbox_pauses), (CAST(unixepoch('subsec') * 1000 AS INTEGER));

-- probeKeys
SELECT (SELECT seq FROM outbox_events INDEXED BY outbox_events_pending WHERE state <= 0 AND partition_no + 0 IN (?, ?) ORDER BY state, seq LIMIT 1),
       (SELECT due_ms FROM outbox_events INDEXED BY outbox_events_due WHERE state = 3 ORDER BY due_ms, seq LIMIT 1),
       (SELECT due_ms FROM outbox_events INDEXED BY outbox_events_due WHERE state = 5 ORDER BY due_ms, seq LIMIT 1),
       (SELECT due_ms FROM outbox_events INDEXED BY outbox_events_due WHERE state = 6 ORDER BY due_ms, seq LIMIT 1),
       (SELECT COUNT(*) FROM outbox_relays WHERE order_name = 'per_key'),
       (SELECT COUNT(*) FROM outbox_relays WHERE order_name = 'per_key' AND id < ?),
       (SELECT COUNT(*) FROM outbox_relays WHERE order_name <> 'crash' AND id <> ? AND (until_ms <= (CAST(unixepoch('subsec') * 1000 AS INTEGER)) OR until_ms > (CAST(unixepoch('subsec') * 1000 AS INTEGER)) + 2 * (until_ms - seen_ms))),
       (SELECT COUNT(*) FROM outbox_leases WHERE name LIKE 'key/%'),
       (SELECT COUNT(*) FROM outbox_leases WHERE name LIKE 'key/%' AND (owner = '' OR owner NOT IN (SELECT id FROM outbox_relays))),
       (SELECT COUNT(*) FROM outbox_pauses), (CAST(unixepoch('subsec') * 1000 AS INTEGER));

-- promote
UPDATE outbox_events SET state = 0 WHERE seq IN (?, ?) AND state = 3;

-- putBehind
UPDATE outbox_events SET state = 4, due_ms = ?, partition_no = ? WHERE seq IN (?, ?) AND state = 0;

-- putOff
UPDATE outbox_events SET due_ms = (CAST(unixepoch('subsec') * 1000 AS INTEGER)) + ?, claimed_by = '' WHERE seq IN (?, ?) AND state = 0;

-- readClock
SELECT (CAST(unixepoch('subsec') * 1000 AS INTEGER));

-- readDelivery
SELECT state FROM outbox_deliveries WHERE seq = ? AND handler = ?;

-- readEvent
SELECT seq, id, topic, event_key, partition_no, headers, payload, created_ms,
       CASE WHEN (due_ms <= created_ms OR due_ms <= (SELECT (CAST(unixepoch('subsec') * 1000 AS INTEGER)))) AND attempts = 0 AND total_attempts = 0 AND first_failed_ms = 0 AND claim_token = 0
                 AND claimed_by = '' THEN 1 ELSE 0 END
FROM outbox_events WHERE seq = ? AND state NOT IN (1, 2);

-- readNames
SELECT name, former_name FROM outbox_handlers ORDER BY since_ms, name;

-- readPauses
SELECT topic FROM outbox_pauses;

-- recordedBy
SELECT DISTINCT handler FROM outbox_deliveries WHERE seq IN (?, ?);

-- renewClaim
UPDATE outbox_deliveries SET due_ms = (CAST(unixepoch('subsec') * 1000 AS INTEGER)) + ? WHERE seq = ? AND handler = ? AND state = 0 AND settled_ms = ?;

-- replayList
UPDATE outbox_events SET state = 0, attempts = 0, first_failed_ms = 0, settled_ms = 0, due_ms = (CAST(unixepoch('subsec') * 1000 AS INTEGER))
WHERE seq IN (?, ?) AND state = 1;

-- resumeList
UPDATE outbox_events SET state = 0 WHERE seq IN (?, ?) AND state = 6;

-- retry
UPDATE outbox_events SET state = 0 WHERE seq IN (?, ?) AND state = 5;

-- setPartition
UPDATE outbox_events SET partition_no = ? WHERE seq IN (?, ?) AND state = 0;

-- setReplayed
UPDATE outbox_handlers SET replayed_to = ? WHERE name = ?;

-- setTopics
UPDATE outbox_handlers SET topics = ? WHERE name = ?;

-- settleDelete
DELETE FROM outbox_events WHERE seq IN (?, ?) AND state = 0;

-- settleFailed
UPDATE outbox_events SET attempts = attempts + 1, total_attempts = total_attempts + 1, claimed_by = '',
       due_ms = (CAST(unixepoch('subsec') * 1000 AS INTEGER)) + ?,
       first_failed_ms = CASE WHEN first_failed_ms = 0 THEN (CAST(unixepoch('subsec') * 1000 AS INTEGER)) ELSE first_failed_ms END, last_error = ?
WHERE seq = ? AND state = 0;

-- settleKeep
UPDATE outbox_events SET state = 1, attempts = attempts + 1, total_attempts = total_attempts + 1,
       claimed_by = '', due_ms = (CAST(unixepoch('subsec') * 1000 AS INTEGER)), settled_ms = (CAST(unixepoch('subsec') * 1000 AS INTEGER))
WHERE seq IN (?, ?) AND state = 0;

-- settleNumbered
UPDATE outbox_events SET state = 1, attempts = attempts + 1, total_attempts = total_attempts + 1,
       claimed_by = '', due_ms = (CAST(unixepoch('subsec') * 1000 AS INTEGER)), settled_ms = (CAST(unixepoch('subsec') * 1000 AS INTEGER)), feed_seq = CASE WHEN feed_seq > 0 THEN feed_seq ELSE (SELECT f.feed_seq FROM outbox_feed f WHERE f.seq = outbox_events.seq) END
WHERE seq IN (?, ?) AND state = 0;

-- stillFallen
SELECT COUNT(*) FROM outbox_relays WHERE id = ? AND order_name <> 'crash' AND (until_ms <= (CAST(unixepoch('subsec') * 1000 AS INTEGER)) OR until_ms > (CAST(unixepoch('subsec') * 1000 AS INTEGER)) + 2 * (until_ms - seen_ms));

-- stillFree
SELECT name FROM outbox_leases WHERE name IN (?, ?) AND (owner = '' OR owner NOT IN (SELECT id FROM outbox_relays)) ORDER BY name;

-- stillThere
SELECT seq FROM outbox_events WHERE seq IN (?, ?);

-- suspectList
UPDATE outbox_events SET claimed_by = ? WHERE seq IN (?, ?) AND state = 0 AND claimed_by = '';

-- takeBack
UPDATE outbox_deliveries SET state = 3, settled_ms = (CAST(unixepoch('subsec') * 1000 AS INTEGER)), due_ms = (CAST(unixepoch('subsec') * 1000 AS INTEGER))
WHERE seq = ? AND handler = ? AND state = 0 AND attempts = ? AND settled_ms = ?;

-- takeLease
UPDATE outbox_leases SET owner = ?, token = token + 1, since_ms = (CAST(unixepoch('subsec') * 1000 AS INTEGER)), until_ms = (CAST(unixepoch('subsec') * 1000 AS INTEGER)) + ?, lease_ms = ?,
       version = version + 1
WHERE name = ?;

-- takePartitions
UPDATE outbox_leases SET owner = ?, token = token + 1, since_ms = (CAST(unixepoch('subsec') * 1000 AS INTEGER)), version = version + 1 WHERE name IN (?, ?);

-- takeRelay
UPDATE outbox_relays SET token = ?, in_hand = '', version = version + 1 WHERE id = ?;

-- unnumbered
SELECT seq, feed_seq FROM outbox_events WHERE seq IN (?, ?) AND state = 0;

-- unnumberedClaimed
SELECT seq, feed_seq FROM outbox_events WHERE seq IN (?, ?) AND claimed_by = ? AND state = 0;

-- unplaced
SELECT seq, id, event_key FROM outbox_events INDEXED BY outbox_events_pending WHERE state <= 0 AND partition_no = -1
ORDER BY state, seq LIMIT ?;

-- waitAside
UPDATE outbox_events SET state = 5, partition_no = ? WHERE seq = ? AND state = 0;

-- waitFailed
UPDATE outbox_events SET state = 5, partition_no = ?, attempts = attempts + 1, total_attempts = total_attempts + 1,
       claimed_by = '', due_ms = (CAST(unixepoch('subsec') * 1000 AS INTEGER)) + ?,
       first_failed_ms = CASE WHEN first_failed_ms = 0 THEN (CAST(unixepoch('subsec') * 1000 AS INTEGER)) ELSE first_failed_ms END, last_error = ?
WHERE seq = ? AND state = 0;

-- waitStuck
UPDATE outbox_events SET state = 5, partition_no = ?, due_ms = (CAST(unixepoch('subsec') * 1000 AS INTEGER)) + ? WHERE seq = ? AND state = 0;

-- waitingAny
SELECT seq FROM outbox_events INDEXED BY outbox_events_pending WHERE state > 4 AND state < 6 ORDER BY state, seq LIMIT ?;

-- wakeEvent
UPDATE outbox_events SET due_ms = CASE WHEN claimed_by = '' THEN (CAST(unixepoch('subsec') * 1000 AS INTEGER)) ELSE due_ms END WHERE seq = ? AND state IN (0, 5);

-- watchedOf
SELECT handler FROM outbox_deliveries WHERE seq = ? AND state = 6;

-- withOutstanding
SELECT h.name, h.topics, (CAST(unixepoch('subsec') * 1000 AS INTEGER)) FROM outbox_handlers h WHERE h.retired_ms = 0
AND EXISTS (SELECT 1 FROM outbox_deliveries d WHERE d.handler = h.name AND d.state = 0 AND d.due_ms <= (SELECT (CAST(unixepoch('subsec') * 1000 AS INTEGER))))
ORDER BY h.since_ms, h.name;

