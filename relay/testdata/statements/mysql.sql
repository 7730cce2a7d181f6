-- beatRelay
UPDATE outbox_relays SET seen_ms = (TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) DIV 1000), until_ms = (TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) DIV 1000) + ? WHERE id = ?;

-- buryClaimed
UPDATE outbox_events FORCE INDEX (PRIMARY) SET attempts = attempts + ?, total_attempts = total_attempts + ?, state = 2,
       claimed_by = '', due_ms = (TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) DIV 1000), settled_ms = (TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) DIV 1000),
       first_failed_ms = CASE WHEN first_failed_ms = 0 THEN (TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) DIV 1000) ELSE first_failed_ms END, last_error = ?
WHERE seq = ? AND state = 0;

-- chargeDead
UPDATE outbox_events FORCE INDEX (PRIMARY) SET attempts = attempts + ?, total_attempts = total_attempts + ?, state = 2,
       claimed_by = '', due_ms = (TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) DIV 1000), settled_ms = (TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) DIV 1000),
       first_failed_ms = CASE WHEN first_failed_ms = 0 THEN (TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) DIV 1000) ELSE first_failed_ms END, last_error = ?
WHERE seq = ? AND state = 0;

-- chargeEvent
UPDATE outbox_events FORCE INDEX (PRIMARY) SET attempts = attempts + ?, total_attempts = total_attempts + ?, claimed_by = '!',
       first_failed_ms = CASE WHEN first_failed_ms = 0 THEN (TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) DIV 1000) ELSE first_failed_ms END, last_error = ?
WHERE seq = ? AND state = 0;

-- claimList
UPDATE outbox_events FORCE INDEX (PRIMARY) SET attempts = attempts + 1, total_attempts = total_attempts + 1,
       claim_token = claim_token + 1, claimed_by = ?, due_ms = (TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) DIV 1000) + ?
WHERE seq IN (?, ?) AND state = 0;

-- claimable
SELECT seq, id, topic, event_key, partition_no, headers, payload, created_ms, due_ms, attempts, total_attempts,
       first_failed_ms, claimed_by, claim_token, (SELECT (TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) DIV 1000))
FROM outbox_events FORCE INDEX (outbox_events_due) WHERE state = 0 AND due_ms <= (SELECT (TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) DIV 1000)) ORDER BY due_ms, seq LIMIT ? FOR UPDATE SKIP LOCKED;

-- claimedBack
UPDATE outbox_events FORCE INDEX (PRIMARY) SET claimed_by = '', due_ms = (TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) DIV 1000) + ?, attempts = attempts - 1,
       total_attempts = total_attempts - 1
WHERE seq IN (?, ?) AND claimed_by = ? AND state = 0;

-- claimedDead
UPDATE outbox_events FORCE INDEX (PRIMARY) SET claimed_by = '', state = 2, due_ms = (TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) DIV 1000), settled_ms = (TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) DIV 1000),
       first_failed_ms = CASE WHEN first_failed_ms = 0 THEN (TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) DIV 1000) ELSE first_failed_ms END, last_error = ?
WHERE seq = ? AND claimed_by = ? AND state = 0;

-- claimedDelete
DELETE outbox_events FROM outbox_events FORCE INDEX (PRIMARY) WHERE seq IN (?, ?) AND claimed_by = ? AND state = 0;

-- claimedFailed
UPDATE outbox_events FORCE INDEX (PRIMARY) SET claimed_by = '', due_ms = (TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) DIV 1000) + ?,
       first_failed_ms = CASE WHEN first_failed_ms = 0 THEN (TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) DIV 1000) ELSE first_failed_ms END, last_error = ?
WHERE seq = ? AND claimed_by = ? AND state = 0;

-- claimedKeep
UPDATE outbox_events FORCE INDEX (PRIMARY) SET state = 1, claimed_by = '', due_ms = (TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) DIV 1000), settled_ms = (TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) DIV 1000)
WHERE seq IN (?, ?) AND claimed_by = ? AND state = 0;

-- correctAttempts
UPDATE outbox_events FORCE INDEX (PRIMARY) SET attempts = attempts + ?, total_attempts = total_attempts + ? WHERE seq = ? AND state = 0;

-- countClaimed
SELECT COUNT(*) FROM outbox_events WHERE seq IN (?, ?) AND claimed_by = ? AND state = 0;

-- countSuspects
SELECT COUNT(*) FROM outbox_events WHERE seq IN (?, ?) AND claimed_by = ?;

-- crashes
SELECT id FROM outbox_relays WHERE order_name = 'crash';

-- deadRelays
SELECT id FROM outbox_relays WHERE until_ms < (TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) DIV 1000) - ? AND order_name <> 'crash'
AND id NOT IN (SELECT owner FROM outbox_leases);

-- deleteDead
DELETE FROM outbox_relays WHERE id = ? AND until_ms < (TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) DIV 1000) - ? AND in_hand = '';

-- deleteRelay
DELETE FROM outbox_relays WHERE id = ?;

-- dueScheduled
SELECT seq FROM outbox_events FORCE INDEX (outbox_events_due) WHERE state = 3 AND due_ms <= ? ORDER BY due_ms, seq LIMIT ? FOR UPDATE SKIP LOCKED;

-- explainCrash
UPDATE outbox_relays SET in_hand = ?, version = version + 1 WHERE id = ?;

-- extendClaimed
UPDATE outbox_events FORCE INDEX (PRIMARY) SET due_ms = (TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) DIV 1000) + ?
WHERE seq IN (?, ?) AND claimed_by = ? AND state = 0 AND due_ms > (TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) DIV 1000);

-- extendLease
UPDATE outbox_leases SET until_ms = (TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) DIV 1000) + ?, version = version + 1
WHERE name = ? AND owner = ? AND token = ? AND until_ms > (TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) DIV 1000);

-- fence
UPDATE outbox_relays SET in_hand = ?, version = version + 1 WHERE id = ? AND token = ? AND version = ?;

-- freeLease
UPDATE outbox_leases SET owner = '', until_ms = 0, version = version + 1
WHERE name = ? AND owner = ? AND token = ?;

-- freeUnknown
UPDATE outbox_leases SET owner = '', until_ms = 0, version = version + 1 WHERE name = ? AND owner = ?;

-- insertLease
INSERT INTO outbox_leases (name) VALUES (?) ON DUPLICATE KEY UPDATE name = name;

-- insertRelay
INSERT INTO outbox_relays (id, host, process, order_name, since_ms, seen_ms, until_ms)
VALUES (?, ?, ?, ?, (TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) DIV 1000), (TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) DIV 1000), (TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) DIV 1000) + ?);

-- lockEvent
SELECT id, topic, event_key, attempts, first_failed_ms, claimed_by FROM outbox_events WHERE seq = ? AND state = 0 FOR UPDATE;

-- lockLease
SELECT owner, token, until_ms, lease_ms FROM outbox_leases WHERE name = ? FOR UPDATE;

-- lockRelay
SELECT in_hand, version FROM outbox_relays WHERE id = ? FOR UPDATE;

-- lookBeside
SELECT seq, id, topic, event_key, partition_no, headers, payload, created_ms, due_ms, attempts, total_attempts,
       first_failed_ms, claimed_by, claim_token, (SELECT (TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) DIV 1000))
FROM outbox_events FORCE INDEX (outbox_events_pending) WHERE state = 0 AND seq NOT IN (?, ?) ORDER BY seq LIMIT ?;

-- lookLease
SELECT owner, token, until_ms, lease_ms, (TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) DIV 1000) FROM outbox_leases WHERE name = ?;

-- lookPending
SELECT seq, id, topic, event_key, partition_no, headers, payload, created_ms, due_ms, attempts, total_attempts,
       first_failed_ms, claimed_by, claim_token, (SELECT (TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) DIV 1000))
FROM outbox_events FORCE INDEX (outbox_events_pending) WHERE state = 0 ORDER BY seq LIMIT ?;

-- makeCrash
UPDATE outbox_relays SET order_name = 'crash', token = 0, until_ms = 0, in_hand = ?, version = version + 1 WHERE id = ?;

-- oldestDead
SELECT MIN(seq) FROM outbox_events FORCE INDEX (outbox_events_pending) WHERE state = 2;

-- park
UPDATE outbox_events FORCE INDEX (PRIMARY) SET state = 3 WHERE seq IN (?, ?) AND state = 0 AND attempts = 0;

-- probe
SELECT (SELECT MIN(due_ms) FROM outbox_events FORCE INDEX (outbox_events_due) WHERE state = 0),
       (SELECT MIN(due_ms) FROM outbox_events FORCE INDEX (outbox_events_due) WHERE state = 3), (TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) DIV 1000);

-- promote
UPDATE outbox_events FORCE INDEX (PRIMARY) SET state = 0 WHERE seq IN (?, ?) AND state = 3;

-- putOff
UPDATE outbox_events FORCE INDEX (PRIMARY) SET due_ms = (TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) DIV 1000) + ?, claimed_by = '' WHERE seq IN (?, ?) AND state = 0;

-- readClock
SELECT (TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) DIV 1000);

-- settleDead
UPDATE outbox_events FORCE INDEX (PRIMARY) SET attempts = attempts + 1, total_attempts = total_attempts + 1, state = 2,
       claimed_by = '', due_ms = (TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) DIV 1000), settled_ms = (TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) DIV 1000),
       first_failed_ms = CASE WHEN first_failed_ms = 0 THEN (TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) DIV 1000) ELSE first_failed_ms END, last_error = ?
WHERE seq = ? AND state = 0;

-- settleDelete
DELETE outbox_events FROM outbox_events FORCE INDEX (PRIMARY) WHERE seq IN (?, ?) AND state = 0;

-- settleFailed
UPDATE outbox_events FORCE INDEX (PRIMARY) SET attempts = attempts + 1, total_attempts = total_attempts + 1, claimed_by = '',
       due_ms = (TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) DIV 1000) + ?,
       first_failed_ms = CASE WHEN first_failed_ms = 0 THEN (TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) DIV 1000) ELSE first_failed_ms END, last_error = ?
WHERE seq = ? AND state = 0;

-- settleKeep
UPDATE outbox_events FORCE INDEX (PRIMARY) SET state = 1, attempts = attempts + 1, total_attempts = total_attempts + 1,
       claimed_by = '', due_ms = (TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) DIV 1000), settled_ms = (TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) DIV 1000)
WHERE seq IN (?, ?) AND state = 0;

-- suspectList
UPDATE outbox_events FORCE INDEX (PRIMARY) SET claimed_by = ? WHERE seq IN (?, ?) AND state = 0 AND claimed_by = '';

-- takeLease
UPDATE outbox_leases SET owner = ?, token = token + 1, since_ms = (TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) DIV 1000), until_ms = (TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) DIV 1000) + ?, lease_ms = ?,
       version = version + 1
WHERE name = ?;

-- takeRelay
UPDATE outbox_relays SET token = ?, in_hand = '', version = version + 1 WHERE id = ?;

