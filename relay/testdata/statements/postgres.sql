-- beatRelay
UPDATE outbox_relays SET seen_ms = ((EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT), until_ms = ((EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT) + $1 WHERE id = $2;

-- buryClaimed
UPDATE outbox_events SET attempts = attempts + $1, total_attempts = total_attempts + $2, state = 2,
       claimed_by = '', due_ms = ((EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT), settled_ms = ((EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT),
       first_failed_ms = CASE WHEN first_failed_ms = 0 THEN ((EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT) ELSE first_failed_ms END, last_error = $3
WHERE seq = $4 AND state = 0;

-- chargeDead
UPDATE outbox_events SET attempts = attempts + $1, total_attempts = total_attempts + $2, state = 2,
       claimed_by = '', due_ms = ((EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT), settled_ms = ((EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT),
       first_failed_ms = CASE WHEN first_failed_ms = 0 THEN ((EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT) ELSE first_failed_ms END, last_error = $3
WHERE seq = $4 AND state = 0;

-- chargeEvent
UPDATE outbox_events SET attempts = attempts + $1, total_attempts = total_attempts + $2, claimed_by = '!',
       first_failed_ms = CASE WHEN first_failed_ms = 0 THEN ((EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT) ELSE first_failed_ms END, last_error = $3
WHERE seq = $4 AND state = 0;

-- claimList
UPDATE outbox_events SET attempts = attempts + 1, total_attempts = total_attempts + 1,
       claim_token = claim_token + 1, claimed_by = $1, due_ms = ((EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT) + $2
WHERE seq IN ($3, $4) AND state = 0;

-- claimable
SELECT seq, id, topic, event_key, partition_no, headers, payload, created_ms, due_ms, attempts, total_attempts,
       first_failed_ms, claimed_by, claim_token, (SELECT ((EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT))
FROM outbox_events WHERE state = 0 AND due_ms <= (SELECT ((EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT)) ORDER BY due_ms, seq LIMIT $1 FOR UPDATE SKIP LOCKED;

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

-- correctAttempts
UPDATE outbox_events SET attempts = attempts + $1, total_attempts = total_attempts + $2 WHERE seq = $3 AND state = 0;

-- countClaimed
SELECT COUNT(*) FROM outbox_events WHERE seq IN ($1, $2) AND claimed_by = $3 AND state = 0;

-- countSuspects
SELECT COUNT(*) FROM outbox_events WHERE seq IN ($1, $2) AND claimed_by = $3;

-- crashes
SELECT id FROM outbox_relays WHERE order_name = 'crash';

-- deadRelays
SELECT id FROM outbox_relays WHERE until_ms < ((EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT) - $1 AND order_name <> 'crash'
AND id NOT IN (SELECT owner FROM outbox_leases);

-- deleteDead
DELETE FROM outbox_relays WHERE id = $1 AND until_ms < ((EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT) - $2 AND in_hand = '';

-- deleteRelay
DELETE FROM outbox_relays WHERE id = $1;

-- dueScheduled
SELECT seq FROM outbox_events WHERE state = 3 AND due_ms <= $1 ORDER BY due_ms, seq LIMIT $2 FOR UPDATE SKIP LOCKED;

-- explainCrash
UPDATE outbox_relays SET in_hand = $1, version = version + 1 WHERE id = $2;

-- extendClaimed
UPDATE outbox_events SET due_ms = ((EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT) + $1
WHERE seq IN ($2, $3) AND claimed_by = $4 AND state = 0 AND due_ms > ((EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT);

-- extendLease
UPDATE outbox_leases SET until_ms = ((EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT) + $1, version = version + 1
WHERE name = $2 AND owner = $3 AND token = $4 AND until_ms > ((EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT);

-- fence
UPDATE outbox_relays SET in_hand = $1, version = version + 1 WHERE id = $2 AND token = $3 AND version = $4;

-- freeLease
UPDATE outbox_leases SET owner = '', until_ms = 0, version = version + 1
WHERE name = $1 AND owner = $2 AND token = $3;

-- freeUnknown
UPDATE outbox_leases SET owner = '', until_ms = 0, version = version + 1 WHERE name = $1 AND owner = $2;

-- insertLease
INSERT INTO outbox_leases (name) VALUES ($1) ON CONFLICT (name) DO NOTHING;

-- insertRelay
INSERT INTO outbox_relays (id, host, process, order_name, since_ms, seen_ms, until_ms)
VALUES ($1, $2, $3, $4, ((EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT), ((EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT), ((EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT) + $5);

-- lockEvent
SELECT id, topic, event_key, attempts, first_failed_ms, claimed_by FROM outbox_events WHERE seq = $1 AND state = 0 FOR UPDATE;

-- lockLease
SELECT owner, token, until_ms, lease_ms FROM outbox_leases WHERE name = $1 FOR UPDATE;

-- lockRelay
SELECT in_hand, version FROM outbox_relays WHERE id = $1 FOR UPDATE;

-- lookBeside
SELECT seq, id, topic, event_key, partition_no, headers, payload, created_ms, due_ms, attempts, total_attempts,
       first_failed_ms, claimed_by, claim_token, (SELECT ((EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT))
FROM outbox_events WHERE state = 0 AND seq NOT IN ($1, $2) ORDER BY seq LIMIT $3;

-- lookLease
SELECT owner, token, until_ms, lease_ms, ((EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT) FROM outbox_leases WHERE name = $1;

-- lookPending
SELECT seq, id, topic, event_key, partition_no, headers, payload, created_ms, due_ms, attempts, total_attempts,
       first_failed_ms, claimed_by, claim_token, (SELECT ((EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT))
FROM outbox_events WHERE state = 0 ORDER BY seq LIMIT $1;

-- makeCrash
UPDATE outbox_relays SET order_name = 'crash', token = 0, until_ms = 0, in_hand = $1, version = version + 1 WHERE id = $2;

-- oldestDead
SELECT MIN(seq) FROM outbox_events WHERE state = 2;

-- park
UPDATE outbox_events SET state = 3 WHERE seq IN ($1, $2) AND state = 0 AND attempts = 0;

-- probe
SELECT (SELECT MIN(due_ms) FROM outbox_events WHERE state = 0),
       (SELECT MIN(due_ms) FROM outbox_events WHERE state = 3), ((EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT);

-- promote
UPDATE outbox_events SET state = 0 WHERE seq IN ($1, $2) AND state = 3;

-- putOff
UPDATE outbox_events SET due_ms = ((EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT) + $1, claimed_by = '' WHERE seq IN ($2, $3) AND state = 0;

-- readClock
SELECT ((EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT);

-- settleDead
UPDATE outbox_events SET attempts = attempts + 1, total_attempts = total_attempts + 1, state = 2,
       claimed_by = '', due_ms = ((EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT), settled_ms = ((EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT),
       first_failed_ms = CASE WHEN first_failed_ms = 0 THEN ((EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT) ELSE first_failed_ms END, last_error = $1
WHERE seq = $2 AND state = 0;

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

-- suspectList
UPDATE outbox_events SET claimed_by = $1 WHERE seq IN ($2, $3) AND state = 0 AND claimed_by = '';

-- takeLease
UPDATE outbox_leases SET owner = $1, token = token + 1, since_ms = ((EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT), until_ms = ((EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT) + $2, lease_ms = $3,
       version = version + 1
WHERE name = $4;

-- takeRelay
UPDATE outbox_relays SET token = $1, in_hand = '', version = version + 1 WHERE id = $2;

