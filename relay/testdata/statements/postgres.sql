-- asidePage
SELECT seq, event_key FROM outbox_events WHERE state > 5 AND state < 7 AND seq > $1 ORDER BY state, seq LIMIT $2;

-- beatOwner
UPDATE outbox_relays SET seen_ms = ((EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT), until_ms = ((EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT) + $1 WHERE id = $2 AND until_ms > ((EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT);

-- beatRelay
UPDATE outbox_relays SET seen_ms = ((EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT), until_ms = ((EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT) + $1 WHERE id = $2;

-- beginDelivery
UPDATE outbox_deliveries SET state = 5 WHERE seq = $1 AND handler = $2 AND state NOT IN (1, 2, 5);

-- behindAny
SELECT seq FROM outbox_events WHERE state > 3 AND state < 5 ORDER BY state, seq LIMIT $1 FOR UPDATE SKIP LOCKED;

-- bury
UPDATE outbox_events SET attempts = attempts + $1, total_attempts = total_attempts + $2, state = 2,
       claimed_by = '', due_ms = ((EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT), settled_ms = ((EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT),
       first_failed_ms = CASE WHEN first_failed_ms = 0 THEN ((EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT) ELSE first_failed_ms END, last_error = $3
WHERE seq = $4 AND state = 0;

-- chargeEvent
UPDATE outbox_events SET attempts = attempts + $1, total_attempts = total_attempts + $2, claimed_by = '!',
       first_failed_ms = CASE WHEN first_failed_ms = 0 THEN ((EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT) ELSE first_failed_ms END, last_error = $3
WHERE seq = $4 AND state = 0;

-- chargeWatched
UPDATE outbox_deliveries SET attempts = attempts + 1 WHERE seq = $1 AND handler = $2 AND state = 6;

-- claimDelivery
UPDATE outbox_deliveries SET attempts = $1, settled_ms = $2, due_ms = ((EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT) + $3
WHERE seq = $4 AND handler = $5 AND state = 0 AND attempts = $6 AND settled_ms = $7;

-- claimList
UPDATE outbox_events SET attempts = attempts + 1, total_attempts = total_attempts + 1,
       claim_token = claim_token + 1, claimed_by = $1, due_ms = ((EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT) + $2
WHERE seq IN ($3, $4) AND state = 0;

-- claimable
SELECT seq, id, topic, event_key, partition_no, headers, payload, created_ms,
       CASE WHEN (due_ms <= created_ms OR due_ms <= (SELECT ((EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT))) AND attempts = 0 AND total_attempts = 0 AND first_failed_ms = 0 AND claim_token = 0
                 AND claimed_by = '' THEN 1 ELSE 0 END, due_ms
FROM outbox_events WHERE state = 0 AND due_ms >= $1 AND due_ms <= (SELECT ((EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT)) ORDER BY due_ms, seq LIMIT $2 FOR UPDATE SKIP LOCKED;

-- claimedBack
UPDATE outbox_events SET claimed_by = '', due_ms = ((EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT) + $1, attempts = attempts - 1,
       total_attempts = total_attempts - 1
WHERE seq IN ($2, $3) AND claimed_by = $4 AND state = 0;

-- claimedDead
UPDATE outbox_events SET claimed_by = '', state = 2, due_ms = ((EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT), settled_ms = ((EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT),
       first_failed_ms = CASE WHEN first_failed_ms = 0 THEN ((EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT) ELSE first_failed_ms END, last_error = $1
WHERE seq = $2 AND claimed_by = $3 AND state = 0;

-- claimedDelete
DELETE FROM outbox_events WHERE seq IN ($1, $2) AND claimed_by = $3 AND state = 0;

-- claimedFailed
UPDATE outbox_events SET claimed_by = '', due_ms = ((EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT) + $1,
       first_failed_ms = CASE WHEN first_failed_ms = 0 THEN ((EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT) ELSE first_failed_ms END, last_error = $2
WHERE seq = $3 AND claimed_by = $4 AND state = 0;

-- claimedKeep
UPDATE outbox_events SET state = 1, claimed_by = '', due_ms = ((EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT), settled_ms = ((EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT)
WHERE seq IN ($1, $2) AND claimed_by = $3 AND state = 0;

-- claimedNumbered
UPDATE outbox_events SET state = 1, claimed_by = '', due_ms = ((EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT), settled_ms = ((EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT), feed_seq = CASE WHEN feed_seq > 0 THEN feed_seq ELSE (SELECT f.feed_seq FROM outbox_feed f WHERE f.seq = outbox_events.seq) END
WHERE seq IN ($1, $2) AND claimed_by = $3 AND state = 0;

-- correctAttempts
UPDATE outbox_events SET attempts = attempts + $1, total_attempts = total_attempts + $2 WHERE seq = $3 AND state = 0;

-- countHandlers
SELECT COUNT(*) FROM outbox_handlers;

-- countSuspects
SELECT COUNT(*) FROM outbox_events WHERE seq IN ($1, $2) AND claimed_by = $3;

-- crashes
SELECT id FROM outbox_relays WHERE order_name = 'crash' AND until_ms <= ((EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT);

-- deadPage
SELECT seq, event_key FROM outbox_events WHERE state > 1 AND state < 3 AND seq > $1 ORDER BY state, seq LIMIT $2;

-- decideHandler
UPDATE outbox_handlers SET from_seq = (SELECT COALESCE(MAX(seq), 0) + 1 FROM outbox_events) WHERE name = $1 AND from_seq < 0;

-- deleteHeld
DELETE FROM outbox_held WHERE seq = $1;

-- deleteRelay
DELETE FROM outbox_relays WHERE id = $1;

-- dropDeliveries
DELETE FROM outbox_deliveries WHERE since_ms >= 0 AND handler = $1 AND seq IN ($2, $3);

-- dropHeld
DELETE FROM outbox_held WHERE seq IN ($1, $2);

-- dropOutstanding
DELETE FROM outbox_deliveries WHERE seq = $1 AND handler = $2 AND state = 0;

-- dueAgain
UPDATE outbox_events SET due_ms = ((EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT) WHERE seq = $1 AND state IN (0, 5);

-- dueScheduled
SELECT seq FROM outbox_events WHERE state = 3 AND due_ms <= $1 ORDER BY due_ms, seq LIMIT $2 FOR UPDATE SKIP LOCKED;

-- dueWaiting
SELECT seq FROM outbox_events WHERE state = 5 AND due_ms <= $1 ORDER BY due_ms, seq LIMIT $2 FOR UPDATE SKIP LOCKED;

-- endDelivery
UPDATE outbox_deliveries SET state = 1, attempts = $1, last_error = '', due_ms = 0, settled_ms = ((EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT)
WHERE seq = $2 AND handler = $3 AND state = 5;

-- eventHistory
SELECT seq, due_ms, attempts, total_attempts, first_failed_ms, claim_token, claimed_by, (SELECT ((EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT))
FROM outbox_events WHERE seq IN ($1, $2);

-- eventState
SELECT state FROM outbox_events WHERE seq = $1;

-- explainCrash
UPDATE outbox_relays SET in_hand = $1, version = version + 1 WHERE id = $2;

-- extendClaimed
UPDATE outbox_events SET due_ms = ((EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT) + $1
WHERE seq IN ($2, $3) AND claimed_by = $4 AND state = 0 AND due_ms > ((EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT);

-- extendLease
UPDATE outbox_leases SET until_ms = ((EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT) + $1, version = version + 1
WHERE name = $2 AND owner = $3 AND token = $4 AND until_ms > ((EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT);

-- failedSince
UPDATE outbox_deliveries SET since_ms = $1 WHERE seq = $2 AND handler = $3 AND state = 0;

-- fallenRelays
SELECT id FROM outbox_relays WHERE order_name <> 'crash' AND (until_ms <= ((EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT) OR until_ms > ((EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT) + 2 * (until_ms - seen_ms)) ORDER BY id;

-- fence
UPDATE outbox_relays SET in_hand = $1, version = version + 1 WHERE id = $2 AND token = $3 AND version = $4;

-- findHandler
SELECT topics, retired_ms, from_seq, replayed_to FROM outbox_handlers WHERE name = $1 FOR UPDATE;

-- firstPending
SELECT seq, attempts, due_ms, ((EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT) FROM outbox_events WHERE state <= 0 ORDER BY state, seq LIMIT 1;

-- freeClaimed
UPDATE outbox_events SET attempts = attempts + $1, total_attempts = total_attempts + $2, claimed_by = $3
WHERE seq = $4 AND state = 0;

-- freeDelivery
UPDATE outbox_deliveries SET attempts = $1, settled_ms = $2, due_ms = ((EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT) + $3, last_error = $4,
       since_ms = CASE WHEN $5 = 1 THEN ((EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT) ELSE since_ms END
WHERE seq = $6 AND handler = $7 AND state = 0 AND settled_ms = $8;

-- freeLeases
UPDATE outbox_leases SET owner = '', until_ms = 0, version = version + 1 WHERE owner = $1;

-- freePartitions
SELECT name FROM outbox_leases WHERE name LIKE 'key/%'
AND (owner = '' OR owner NOT IN (SELECT id FROM outbox_relays)) ORDER BY name LIMIT $1 FOR UPDATE;

-- givePartitions
UPDATE outbox_leases SET owner = '', version = version + 1 WHERE name IN ($1, $2) AND owner = $3;

-- group
SELECT seq FROM outbox_events WHERE state = 4 AND due_ms = $1 AND seq <= $2 AND event_key = $3
ORDER BY due_ms, seq LIMIT $4;

-- heldAny
SELECT seq FROM outbox_held ORDER BY seq LIMIT $1;

-- heldBySeqs
SELECT seq, event_key, partition_no FROM outbox_held WHERE seq IN ($1, $2) ORDER BY seq;

-- heldKeys
SELECT event_key, MIN(seq) FROM outbox_held WHERE event_key IN ($1, $2) GROUP BY event_key;

-- heldPage
SELECT h.seq, h.event_key, h.partition_no, COALESCE(e.state, -1) FROM outbox_held h LEFT JOIN outbox_events e ON e.seq = h.seq
WHERE h.seq > $1 ORDER BY h.seq LIMIT $2;

-- heldState
SELECT state FROM outbox_events WHERE seq = $1 FOR UPDATE;

-- insertCrash
INSERT INTO outbox_relays (id, order_name, until_ms, in_hand) VALUES ($1, 'crash', ((EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT) + 86400000, $2);

-- insertHandler
INSERT INTO outbox_handlers (name, topics, from_seq, since_ms) VALUES ($1, $2, $3, ((EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT)) ON CONFLICT (name) DO NOTHING;

-- insertHeld
INSERT INTO outbox_held (seq, event_key, partition_no, since_ms) VALUES ($1, $2, $3, ((EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT)), ($4, $5, $6, ((EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT)) ON CONFLICT (seq) DO NOTHING;

-- insertName
INSERT INTO outbox_handlers (name, former_name, topics, from_seq, since_ms) VALUES ($1, $2, $3, 0, ((EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT)) ON CONFLICT (name) DO NOTHING;

-- insertNote
INSERT INTO outbox_deliveries (state, attempts, last_error, due_ms, handler, seq, since_ms, settled_ms)
SELECT $1, $2, $3, ((EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT) + $4, $5, seq, ((EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT), ((EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT) FROM outbox_events WHERE seq = $6;

-- insertOutstanding
INSERT INTO outbox_deliveries (settled_ms, attempts, handler, seq, state, due_ms, since_ms)
SELECT $1, $2, $3, seq, 0, ((EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT), ((EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT) FROM outbox_events WHERE seq = $4;

-- insertPartitions
INSERT INTO outbox_leases (name) VALUES ($1), ($2) ON CONFLICT (name) DO NOTHING;

-- insertRelay
INSERT INTO outbox_relays (id, host, process, order_name, since_ms, seen_ms, until_ms)
VALUES ($1, $2, $3, $4, ((EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT), ((EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT), ((EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT) + $5);

-- keptEvents
SELECT seq, topic, CASE WHEN EXISTS (SELECT 1 FROM outbox_deliveries d WHERE d.seq = e.seq AND d.handler = $1) THEN 1 ELSE 0 END
FROM (SELECT seq, topic FROM outbox_events WHERE state > 0 AND state < 2 AND seq > $2 ORDER BY state, seq LIMIT $3) e;

-- leaveFailed
UPDATE outbox_deliveries SET settled_ms = CASE WHEN state = 6 THEN -1 ELSE $1 END,
    attempts = CASE WHEN state = 6 THEN attempts ELSE attempts + $2 END, state = 0
WHERE handler = $3 AND seq = $4 AND state IN (3, 6);

-- letGoList
UPDATE outbox_events SET state = 0, due_ms = created_ms WHERE seq IN ($1, $2) AND state = 4;

-- lockClaim
SELECT seq FROM outbox_deliveries WHERE seq = $1 AND handler = $2 AND state = 0 AND settled_ms = $3 FOR UPDATE SKIP LOCKED;

-- lockEvent
SELECT id, topic, event_key, attempts, first_failed_ms, claimed_by FROM outbox_events WHERE seq = $1 AND state = 0 FOR UPDATE;

-- lockLease
SELECT owner, token, until_ms, lease_ms FROM outbox_leases WHERE name = $1 FOR UPDATE;

-- lockMisfits
SELECT seq FROM outbox_events WHERE seq IN ($1, $2) AND state = 0 AND (partition_no < -1 OR partition_no > 63) FOR UPDATE SKIP LOCKED;

-- lockMisplaced
SELECT seq FROM outbox_events WHERE seq IN ($1, $2) AND state = 0 FOR UPDATE SKIP LOCKED;

-- lockOutstanding
SELECT seq FROM outbox_deliveries
WHERE seq = $1 AND handler = $2 AND state = 0 AND attempts = $3 AND settled_ms = $4 AND due_ms <= (SELECT ((EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT)) FOR UPDATE SKIP LOCKED;

-- lockOwn
SELECT in_hand, version FROM outbox_relays WHERE id = $1 AND order_name <> 'crash' FOR UPDATE;

-- lockPending
SELECT seq, claimed_by FROM outbox_events WHERE seq IN ($1, $2) AND state = 0 FOR UPDATE;

-- lockRelay
SELECT in_hand FROM outbox_relays WHERE id = $1 FOR UPDATE;

-- lookAtKeys
SELECT seq, event_key, created_ms, due_ms, attempts, (SELECT ((EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT)) FROM outbox_events
WHERE state <= 0 AND seq > $1 AND partition_no IN ($2, $3) ORDER BY state, seq LIMIT $4;

-- lookBehind
SELECT seq, id, topic, event_key, partition_no, headers, payload, created_ms,
       CASE WHEN (due_ms <= created_ms OR due_ms <= (SELECT ((EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT))) AND attempts = 0 AND total_attempts = 0 AND first_failed_ms = 0 AND claim_token = 0
                 AND claimed_by = '' THEN 1 ELSE 0 END
FROM outbox_events WHERE state = 0 AND seq > $1 AND partition_no >= $2 AND partition_no <= $3 AND (SELECT seq FROM outbox_events WHERE state = 0 AND seq < $4 AND partition_no >= $5 AND partition_no <= $6 ORDER BY state DESC, seq DESC LIMIT 1) IS NULL ORDER BY state, seq LIMIT $7;

-- lookBehindAndBetween
SELECT * FROM (SELECT seq, id, topic, event_key, partition_no, headers, payload, created_ms,
       CASE WHEN (due_ms <= created_ms OR due_ms <= (SELECT ((EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT))) AND attempts = 0 AND total_attempts = 0 AND first_failed_ms = 0 AND claim_token = 0
                 AND claimed_by = '' THEN 1 ELSE 0 END
FROM outbox_events WHERE seq IN ($1, $2) AND state + 0 = 0 AND partition_no + 0 >= $3 AND partition_no + 0 <= $4 UNION ALL
SELECT * FROM (SELECT seq, id, topic, event_key, partition_no, headers, payload, created_ms,
       CASE WHEN (due_ms <= created_ms OR due_ms <= (SELECT ((EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT))) AND attempts = 0 AND total_attempts = 0 AND first_failed_ms = 0 AND claim_token = 0
                 AND claimed_by = '' THEN 1 ELSE 0 END
FROM outbox_events WHERE state = 0 AND seq > $5 AND partition_no >= $6 AND partition_no <= $7 ORDER BY state, seq LIMIT $8) behind) found WHERE (SELECT seq FROM outbox_events WHERE state = 0 AND seq < $9 AND partition_no >= $10 AND partition_no <= $11 ORDER BY state DESC, seq DESC LIMIT 1) IS NULL;

-- lookBehindAndBetweenByKey
SELECT * FROM (SELECT seq, id, topic, event_key, partition_no, headers, payload, created_ms,
       CASE WHEN (due_ms <= created_ms OR due_ms <= (SELECT ((EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT))) AND attempts = 0 AND total_attempts = 0 AND first_failed_ms = 0 AND claim_token = 0
                 AND claimed_by = '' THEN 1 ELSE 0 END
FROM outbox_events WHERE seq IN ($1, $2) AND state + 0 = 0 AND partition_no + 0 >= $3 AND partition_no + 0 <= $4 UNION ALL
SELECT * FROM (SELECT seq, id, topic, event_key, partition_no, headers, payload, created_ms,
       CASE WHEN (due_ms <= created_ms OR due_ms <= (SELECT ((EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT))) AND attempts = 0 AND total_attempts = 0 AND first_failed_ms = 0 AND claim_token = 0
                 AND claimed_by = '' THEN 1 ELSE 0 END
FROM outbox_events WHERE seq > $5 AND seq <= $6 AND state + 0 = 0 AND partition_no >= $7 AND partition_no <= $8 ORDER BY seq LIMIT $9) behind) found WHERE (SELECT seq FROM outbox_events WHERE state = 0 AND seq < $10 AND partition_no >= $11 AND partition_no <= $12 ORDER BY state DESC, seq DESC LIMIT 1) IS NULL;

-- lookBehindByKey
SELECT seq, id, topic, event_key, partition_no, headers, payload, created_ms,
       CASE WHEN (due_ms <= created_ms OR due_ms <= (SELECT ((EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT))) AND attempts = 0 AND total_attempts = 0 AND first_failed_ms = 0 AND claim_token = 0
                 AND claimed_by = '' THEN 1 ELSE 0 END
FROM outbox_events WHERE seq > $1 AND seq <= $2 AND state + 0 = 0 AND partition_no >= $3 AND partition_no <= $4 AND (SELECT seq FROM outbox_events WHERE state = 0 AND seq < $5 AND partition_no >= $6 AND partition_no <= $7 ORDER BY state DESC, seq DESC LIMIT 1) IS NULL ORDER BY seq LIMIT $8;

-- lookBehindByRow
SELECT seq, id, topic, event_key, partition_no, headers, payload, created_ms,
       CASE WHEN (due_ms <= created_ms OR due_ms <= (SELECT ((EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT))) AND attempts = 0 AND total_attempts = 0 AND first_failed_ms = 0 AND claim_token = 0
                 AND claimed_by = '' THEN 1 ELSE 0 END
FROM outbox_events WHERE state <= 0 AND (state, seq) > (0, $1) AND partition_no >= $2 AND partition_no <= $3 AND (SELECT seq FROM outbox_events WHERE state <= 0 AND (state, seq) < (0, $4) AND partition_no >= $5 AND partition_no <= $6 ORDER BY state DESC, seq DESC LIMIT 1) IS NULL ORDER BY state, seq LIMIT $7;

-- lookBelow
SELECT CASE WHEN (SELECT seq FROM outbox_events WHERE state = 0 AND seq < $1 AND partition_no >= $2 AND partition_no <= $3 ORDER BY state DESC, seq DESC LIMIT 1) IS NULL THEN 0 ELSE 1 END;

-- lookKeys
SELECT seq, id, topic, event_key, partition_no, headers, payload, created_ms,
       CASE WHEN (due_ms <= created_ms OR due_ms <= (SELECT ((EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT))) AND attempts = 0 AND total_attempts = 0 AND first_failed_ms = 0 AND claim_token = 0
                 AND claimed_by = '' THEN 1 ELSE 0 END
FROM outbox_events WHERE state <= 0 AND partition_no IN ($1, $2) AND NOT (seq >= $3 AND seq <= $4) ORDER BY state, seq LIMIT $5;

-- lookKeysFromTo
SELECT seq, id, topic, event_key, partition_no, headers, payload, created_ms,
       CASE WHEN (due_ms <= created_ms OR due_ms <= (SELECT ((EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT))) AND attempts = 0 AND total_attempts = 0 AND first_failed_ms = 0 AND claim_token = 0
                 AND claimed_by = '' THEN 1 ELSE 0 END
FROM outbox_events WHERE state <= 0 AND partition_no >= $1 AND partition_no <= $2 AND NOT (seq >= $3 AND seq <= $4) ORDER BY state, seq LIMIT $5;

-- lookKeysIn
SELECT seq, id, topic, event_key, partition_no, headers, payload, created_ms,
       CASE WHEN (due_ms <= created_ms OR due_ms <= (SELECT ((EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT))) AND attempts = 0 AND total_attempts = 0 AND first_failed_ms = 0 AND claim_token = 0
                 AND claimed_by = '' THEN 1 ELSE 0 END
FROM ((SELECT *
FROM outbox_events WHERE state <= 0 AND partition_no >= $1 AND partition_no <= $2 AND NOT (seq >= $3 AND seq <= $4) ORDER BY state, seq LIMIT $5) UNION ALL
(SELECT *
FROM outbox_events WHERE state <= 0 AND partition_no >= $6 AND partition_no <= $7 AND NOT (seq >= $8 AND seq <= $9) ORDER BY state, seq LIMIT $10)) found ORDER BY state, seq LIMIT $11;

-- lookLease
SELECT owner, token, until_ms, lease_ms, ((EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT) FROM outbox_leases WHERE name = $1;

-- lookPast
SELECT seq, id, topic, event_key, partition_no, headers, payload, created_ms,
       CASE WHEN (due_ms <= created_ms OR due_ms <= (SELECT ((EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT))) AND attempts = 0 AND total_attempts = 0 AND first_failed_ms = 0 AND claim_token = 0
                 AND claimed_by = '' THEN 1 ELSE 0 END
FROM outbox_events WHERE state <= 0 AND partition_no IN ($1, $2) AND (seq <= $3 OR event_key NOT IN ($4, $5)) ORDER BY state, seq LIMIT $6;

-- lookPending
SELECT seq, id, topic, event_key, partition_no, headers, payload, created_ms,
       CASE WHEN (due_ms <= created_ms OR due_ms <= (SELECT ((EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT))) AND attempts = 0 AND total_attempts = 0 AND first_failed_ms = 0 AND claim_token = 0
                 AND claimed_by = '' THEN 1 ELSE 0 END
FROM outbox_events WHERE state <= 0 AND NOT (seq >= $1 AND seq <= $2) ORDER BY state, seq LIMIT $3;

-- makeCrash
UPDATE outbox_relays SET order_name = 'crash', token = 0, until_ms = 0, in_hand = $1, version = version + 1
WHERE id = $2;

-- misfits
SELECT seq FROM outbox_events WHERE state <= 0 AND (partition_no < -1 OR partition_no > 63)
ORDER BY state, seq LIMIT $1;

-- needed
SELECT h.name, h.topics, h.former_name, h.from_seq, h.retired_ms, COALESCE(d.state, -1),
       COALESCE(d.attempts, 0), COALESCE(d.since_ms, 0), COALESCE(d.due_ms - (SELECT ((EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT)), 0), COALESCE(d.settled_ms, 0),
       COALESCE(d.last_error, '')
FROM outbox_handlers h LEFT JOIN outbox_deliveries d ON d.seq = $1 AND d.handler = h.name
ORDER BY h.since_ms, h.name;

-- newDelivery
INSERT INTO outbox_deliveries (seq, handler, state, since_ms) VALUES ($1, $2, 5, ((EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT));

-- nextHeld
SELECT MIN(seq) FROM outbox_held WHERE event_key = $1;

-- nextSeq
SELECT COALESCE(MAX(seq), 0) + 1 FROM outbox_events;

-- noteCrash
UPDATE outbox_events SET attempts = attempts + $1, total_attempts = total_attempts + $2,
       first_failed_ms = CASE WHEN first_failed_ms = 0 THEN ((EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT) ELSE first_failed_ms END, last_error = $3
WHERE seq = $4 AND state = 0;

-- noteDelivery
UPDATE outbox_deliveries SET since_ms = CASE WHEN attempts = 0 AND $1 > 0 THEN ((EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT) ELSE since_ms END,
       state = $2, attempts = $3, last_error = $4, due_ms = ((EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT) + $5, settled_ms = ((EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT)
WHERE seq = $6 AND handler = $7 AND state NOT IN (1, 2, $8);

-- oldestDead
SELECT seq FROM outbox_events WHERE state > 1 AND state < 3 ORDER BY state, seq LIMIT 1;

-- otherOrder
SELECT id, host, process, order_name, seen_ms, until_ms - ((EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT) FROM outbox_relays
WHERE order_name <> 'crash' AND order_name <> $1 ORDER BY id;

-- outstanding
SELECT d.seq, d.attempts, d.settled_ms, d.since_ms, d.last_error, d.due_ms,
       COALESCE(e.topic, ''), COALESCE(e.event_key, ''), COALESCE(e.state, 1),
       CASE WHEN e.event_key <> '' AND EXISTS (SELECT 1 FROM outbox_held k WHERE k.event_key = e.event_key AND k.seq < e.seq) THEN 1 ELSE 0 END
FROM outbox_deliveries d LEFT JOIN outbox_events e ON e.seq = d.seq
WHERE d.handler = $1 AND d.state = 0 AND d.due_ms <= (SELECT ((EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT)) AND d.due_ms >= $2 AND (d.due_ms > $3 OR d.seq > $4)
ORDER BY d.due_ms, d.seq LIMIT $5;

-- outstandingTopics
SELECT h.topics FROM outbox_deliveries d JOIN outbox_handlers h ON h.name = d.handler
WHERE d.seq = $1 AND d.state = 0 AND h.retired_ms = 0;

-- ownPartitions
SELECT name, token FROM outbox_leases WHERE owner = $1 AND name LIKE 'key/%' ORDER BY name;

-- park
UPDATE outbox_events SET state = 3 WHERE seq IN ($1, $2) AND state = 0 AND attempts = 0;

-- pauseList
UPDATE outbox_events SET state = 6 WHERE seq IN ($1, $2) AND state = 0;

-- pausedEvents
SELECT seq, topic FROM outbox_events WHERE state > 5 AND state < 7 AND seq > $1 ORDER BY state, seq LIMIT $2;

-- postpone
UPDATE outbox_events SET state = 5, partition_no = $1, claimed_by = '', due_ms = ((EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT) + $2, last_error = $3
WHERE seq = $4 AND state = 0;

-- probe
SELECT (SELECT due_ms FROM outbox_events WHERE state = 0 ORDER BY due_ms, seq LIMIT 1),
       (SELECT due_ms FROM outbox_events WHERE state = 3 ORDER BY due_ms, seq LIMIT 1),
       (SELECT due_ms FROM outbox_events WHERE state = 6 ORDER BY due_ms, seq LIMIT 1),
       (SELECT COUNT(*) FROM outbox_pauses), ((EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT);

-- probeKeys
SELECT (SELECT seq FROM outbox_events WHERE state <= 0 AND partition_no + 0 IN ($1, $2) ORDER BY state, seq LIMIT 1),
       (SELECT due_ms FROM outbox_events WHERE state = 3 ORDER BY due_ms, seq LIMIT 1),
       (SELECT due_ms FROM outbox_events WHERE state = 5 ORDER BY due_ms, seq LIMIT 1),
       (SELECT due_ms FROM outbox_events WHERE state = 6 ORDER BY due_ms, seq LIMIT 1),
       (SELECT COUNT(*) FROM outbox_relays WHERE order_name = 'per_key'),
       (SELECT COUNT(*) FROM outbox_relays WHERE order_name = 'per_key' AND id < $3),
       (SELECT COUNT(*) FROM outbox_relays WHERE order_name <> 'crash' AND id <> $4 AND (until_ms <= ((EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT) OR until_ms > ((EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT) + 2 * (until_ms - seen_ms))),
       (SELECT COUNT(*) FROM outbox_leases WHERE name LIKE 'key/%'),
       (SELECT COUNT(*) FROM outbox_leases WHERE name LIKE 'key/%' AND (owner = '' OR owner NOT IN (SELECT id FROM outbox_relays))),
       (SELECT COUNT(*) FROM outbox_pauses), ((EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT);

-- promote
UPDATE outbox_events SET state = 0 WHERE seq IN ($1, $2) AND state = 3;

-- putBehind
UPDATE outbox_events SET state = 4, due_ms = $1, partition_no = $2 WHERE seq IN ($3, $4) AND state = 0;

-- putOff
UPDATE outbox_events SET due_ms = ((EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT) + $1, claimed_by = '' WHERE seq IN ($2, $3) AND state = 0;

-- readClock
SELECT ((EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT);

-- readDelivery
SELECT state FROM outbox_deliveries WHERE seq = $1 AND handler = $2;

-- readEvent
SELECT seq, id, topic, event_key, partition_no, headers, payload, created_ms,
       CASE WHEN (due_ms <= created_ms OR due_ms <= (SELECT ((EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT))) AND attempts = 0 AND total_attempts = 0 AND first_failed_ms = 0 AND claim_token = 0
                 AND claimed_by = '' THEN 1 ELSE 0 END
FROM outbox_events WHERE seq = $1 AND state NOT IN (1, 2);

-- readNames
SELECT name, former_name FROM outbox_handlers ORDER BY since_ms, name;

-- readPauses
SELECT topic FROM outbox_pauses;

-- recordedBy
SELECT DISTINCT handler FROM outbox_deliveries WHERE seq IN ($1, $2);

-- renewClaim
UPDATE outbox_deliveries SET due_ms = ((EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT) + $1 WHERE seq = $2 AND handler = $3 AND state = 0 AND settled_ms = $4;

-- replayList
UPDATE outbox_events SET state = 0, attempts = 0, first_failed_ms = 0, settled_ms = 0, due_ms = ((EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT)
WHERE seq IN ($1, $2) AND state = 1;

-- resumeList
UPDATE outbox_events SET state = 0 WHERE seq IN ($1, $2) AND state = 6;

-- retry
UPDATE outbox_events SET state = 0 WHERE seq IN ($1, $2) AND state = 5;

-- setPartition
UPDATE outbox_events SET partition_no = $1 WHERE seq IN ($2, $3) AND state = 0;

-- setReplayed
UPDATE outbox_handlers SET replayed_to = $1 WHERE name = $2;

-- setTopics
UPDATE outbox_handlers SET topics = $1 WHERE name = $2;

-- settleDelete
DELETE FROM outbox_events WHERE seq IN ($1, $2) AND state = 0;

-- settleFailed
UPDATE outbox_events SET attempts = attempts + 1, total_attempts = total_attempts + 1, claimed_by = '',
       due_ms = ((EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT) + $1,
       first_failed_ms = CASE WHEN first_failed_ms = 0 THEN ((EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT) ELSE first_failed_ms END, last_error = $2
WHERE seq = $3 AND state = 0;

-- settleKeep
UPDATE outbox_events SET state = 1, attempts = attempts + 1, total_attempts = total_attempts + 1,
       claimed_by = '', due_ms = ((EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT), settled_ms = ((EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT)
WHERE seq IN ($1, $2) AND state = 0;

-- settleNumbered
UPDATE outbox_events SET state = 1, attempts = attempts + 1, total_attempts = total_attempts + 1,
       claimed_by = '', due_ms = ((EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT), settled_ms = ((EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT), feed_seq = CASE WHEN feed_seq > 0 THEN feed_seq ELSE (SELECT f.feed_seq FROM outbox_feed f WHERE f.seq = outbox_events.seq) END
WHERE seq IN ($1, $2) AND state = 0;

-- stillFallen
SELECT COUNT(*) FROM outbox_relays WHERE id = $1 AND order_name <> 'crash' AND (until_ms <= ((EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT) OR until_ms > ((EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT) + 2 * (until_ms - seen_ms));

-- stillFree
SELECT name FROM outbox_leases WHERE name IN ($1, $2) AND (owner = '' OR owner NOT IN (SELECT id FROM outbox_relays)) ORDER BY name;

-- stillThere
SELECT seq FROM outbox_events WHERE seq IN ($1, $2);

-- suspectList
UPDATE outbox_events SET claimed_by = $1 WHERE seq IN ($2, $3) AND state = 0 AND claimed_by = '';

-- takeBack
UPDATE outbox_deliveries SET state = 3, settled_ms = ((EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT), due_ms = ((EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT)
WHERE seq = $1 AND handler = $2 AND state = 0 AND attempts = $3 AND settled_ms = $4;

-- takeLease
UPDATE outbox_leases SET owner = $1, token = token + 1, since_ms = ((EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT), until_ms = ((EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT) + $2, lease_ms = $3,
       version = version + 1
WHERE name = $4;

-- takePartitions
UPDATE outbox_leases SET owner = $1, token = token + 1, since_ms = ((EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT), version = version + 1 WHERE name IN ($2, $3);

-- takeRelay
UPDATE outbox_relays SET token = $1, in_hand = '', version = version + 1 WHERE id = $2;

-- unnumbered
SELECT seq, feed_seq FROM outbox_events WHERE seq IN ($1, $2) AND state = 0;

-- unnumberedClaimed
SELECT seq, feed_seq FROM outbox_events WHERE seq IN ($1, $2) AND claimed_by = $3 AND state = 0 FOR UPDATE;

-- unplaced
SELECT seq, id, event_key FROM outbox_events WHERE state <= 0 AND partition_no = -1
ORDER BY state, seq LIMIT $1 FOR UPDATE SKIP LOCKED;

-- waitAside
UPDATE outbox_events SET state = 5, partition_no = $1 WHERE seq = $2 AND state = 0;

-- waitFailed
UPDATE outbox_events SET state = 5, partition_no = $1, attempts = attempts + 1, total_attempts = total_attempts + 1,
       claimed_by = '', due_ms = ((EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT) + $2,
       first_failed_ms = CASE WHEN first_failed_ms = 0 THEN ((EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT) ELSE first_failed_ms END, last_error = $3
WHERE seq = $4 AND state = 0;

-- waitStuck
UPDATE outbox_events SET state = 5, partition_no = $1, due_ms = ((EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT) + $2 WHERE seq = $3 AND state = 0;

-- waitingAny
SELECT seq FROM outbox_events WHERE state > 4 AND state < 6 ORDER BY state, seq LIMIT $1 FOR UPDATE SKIP LOCKED;

-- wakeEvent
UPDATE outbox_events SET due_ms = CASE WHEN claimed_by = '' THEN ((EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT) ELSE due_ms END WHERE seq = $1 AND state IN (0, 5);

-- watchedOf
SELECT handler FROM outbox_deliveries WHERE seq = $1 AND state = 6;

-- withOutstanding
SELECT h.name, h.topics, ((EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT) FROM outbox_handlers h WHERE h.retired_ms = 0
AND EXISTS (SELECT 1 FROM outbox_deliveries d WHERE d.handler = h.name AND d.state = 0 AND d.due_ms <= (SELECT ((EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT)))
ORDER BY h.since_ms, h.name;

