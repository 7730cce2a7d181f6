-- anyDeliveries
SELECT feed_seq FROM outbox_webhook_deliveries WHERE subscription_id = ? ORDER BY feed_seq LIMIT ?;

-- claimDeliveries
UPDATE outbox_webhook_deliveries SET claimed_by = ?, due_ms = (CAST(unixepoch('subsec') * 1000 AS INTEGER)) + ?
WHERE subscription_id = ? AND feed_seq IN (?, ?) AND state = 0;

-- closeMissed
UPDATE outbox_subscriptions SET missed = 0, missed_from = CASE WHEN state = 2 THEN ? ELSE 0 END, version = version + 1
WHERE id = ? AND missed_from > 0;

-- countDeliveries
SELECT state, COUNT(*) FROM outbox_webhook_deliveries INDEXED BY outbox_webhook_deliveries_order WHERE subscription_id = ? GROUP BY state;

-- deleteMissed
DELETE FROM outbox_webhook_deliveries WHERE subscription_id = ? AND feed_seq = ? AND state = 3;

-- delivered
SELECT feed_seq
FROM outbox_webhook_deliveries
WHERE subscription_id = ? AND feed_seq >= ? AND feed_seq <= ? AND state + 0 <= 2
ORDER BY feed_seq
LIMIT ?;

-- disableSubscription
UPDATE outbox_subscriptions
SET state = 2, since_ms = (CAST(unixepoch('subsec') * 1000 AS INTEGER)), reason = ?, missed_from = CASE WHEN missed_from = 0 THEN ? ELSE missed_from END, version = version + 1
WHERE id = ? AND state = 0;

-- dropAny
DELETE FROM outbox_webhook_deliveries WHERE subscription_id = ? AND feed_seq IN (?, ?);

-- dropDeliveries
DELETE FROM outbox_webhook_deliveries WHERE subscription_id = ? AND feed_seq IN (?, ?) AND state > 0;

-- dropSubscribed
DELETE FROM outbox_subscriptions WHERE id = ? AND state = 3;

-- endpointFails
UPDATE outbox_subscriptions
SET failing_ms = CASE WHEN failing_ms = 0 THEN (CAST(unixepoch('subsec') * 1000 AS INTEGER)) ELSE failing_ms END, failures = failures + ?
WHERE id = ? AND version = ?;

-- endpointRests
UPDATE outbox_subscriptions
SET rest_ms = CASE WHEN rest_ms < (CAST(unixepoch('subsec') * 1000 AS INTEGER)) + ? THEN (CAST(unixepoch('subsec') * 1000 AS INTEGER)) + ? ELSE rest_ms END
WHERE id = ? AND version = ?;

-- endpointWorks
UPDATE outbox_subscriptions SET failing_ms = 0, failures = 0 WHERE id = ? AND version = ?;

-- expire
UPDATE outbox_webhook_deliveries SET state = 2, claimed_by = '', due_ms = (CAST(unixepoch('subsec') * 1000 AS INTEGER)), settled_ms = (CAST(unixepoch('subsec') * 1000 AS INTEGER)),
       last_error = 'the subscription was not active for too long'
WHERE subscription_id = ? AND feed_seq IN (?, ?) AND state = 0;

-- findSubscription
SELECT id FROM outbox_subscriptions WHERE name = ? AND state <= 2;

-- freeFirst
UPDATE outbox_webhook_deliveries
SET due_ms = (CAST(unixepoch('subsec') * 1000 AS INTEGER)), claimed_by = ''
WHERE subscription_id = ? AND feed_seq = ? AND state = 0 AND claimed_by = ?;

-- giveBack
UPDATE outbox_webhook_deliveries SET due_ms = (CAST(unixepoch('subsec') * 1000 AS INTEGER)) + ?, claimed_by = ''
WHERE subscription_id = ? AND claimed_by = ? AND state = 0 AND feed_seq IN (?, ?);

-- holdFirst
UPDATE outbox_webhook_deliveries
SET claimed_by = ?, due_ms = (CAST(unixepoch('subsec') * 1000 AS INTEGER)) + ?
WHERE subscription_id = ? AND feed_seq = ? AND state = 0;

-- insertIDs
INSERT INTO outbox_counters (name) VALUES ('subscription_id') ON CONFLICT (name) DO NOTHING;

-- insertMissed
INSERT INTO outbox_webhook_deliveries (subscription_id, feed_seq, seq, state, attempts, created_ms)
VALUES (?, ?, ?, 3, ?, (CAST(unixepoch('subsec') * 1000 AS INTEGER)));

-- insertSubscription
INSERT INTO outbox_subscriptions
       (id, name, url, topics, in_order, headers, secrets, kept_max, hold_ms, created_ms, since_ms)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, (CAST(unixepoch('subsec') * 1000 AS INTEGER)), (CAST(unixepoch('subsec') * 1000 AS INTEGER)));

-- keepFirst
UPDATE outbox_webhook_deliveries
SET due_ms = (CAST(unixepoch('subsec') * 1000 AS INTEGER)) + ?
WHERE subscription_id = ? AND feed_seq = ? AND state = 0 AND claimed_by = ?;

-- listDeliveries
SELECT d.feed_seq, COALESCE(e.id, ''), COALESCE(e.topic, ''), d.state, d.attempts, d.created_ms, d.due_ms, d.settled_ms,
       d.last_status, d.last_ms, d.last_answer, d.last_error
FROM outbox_webhook_deliveries d INDEXED BY outbox_webhook_deliveries_order LEFT JOIN outbox_events e ON e.seq = d.seq
WHERE d.subscription_id = ? AND d.state > ? AND d.state < ? AND d.feed_seq > ? ORDER BY d.state, d.feed_seq LIMIT ?;

-- listMissed
SELECT feed_seq, seq, attempts FROM outbox_webhook_deliveries INDEXED BY outbox_webhook_deliveries_order
WHERE subscription_id = ? AND state > 2 AND state < 4 ORDER BY state, feed_seq;

-- lockPurge
SELECT value FROM outbox_counters WHERE name = 'feed_epoch';

-- lockState
SELECT state, since_ms, hold_ms, (CAST(unixepoch('subsec') * 1000 AS INTEGER)) FROM outbox_subscriptions WHERE id = ?;

-- lockTopics
SELECT topics FROM outbox_subscriptions WHERE id = ? AND state <= 2;

-- markDeleted
UPDATE outbox_subscriptions
SET state = 3, name = ?, since_ms = (CAST(unixepoch('subsec') * 1000 AS INTEGER)), secrets = '', headers = '', version = version + 1
WHERE name = ? AND state <= 2;

-- nextDue
SELECT feed_seq, seq, attempts, due_ms FROM outbox_webhook_deliveries INDEXED BY outbox_webhook_deliveries_due
WHERE subscription_id = ? AND state = 0 AND due_ms <= ? ORDER BY due_ms, feed_seq LIMIT ?;

-- nextInOrder
SELECT feed_seq, seq, attempts, due_ms FROM outbox_webhook_deliveries INDEXED BY outbox_webhook_deliveries_order
WHERE subscription_id = ? AND state <= 0 ORDER BY state, feed_seq LIMIT ?;

-- oldDeliveries
SELECT feed_seq FROM outbox_webhook_deliveries INDEXED BY outbox_webhook_deliveries_due
WHERE subscription_id = ? AND state = ? AND due_ms < ? ORDER BY due_ms, feed_seq LIMIT ?;

-- oldestPlace
SELECT COALESCE((SELECT feed_seq FROM outbox_feed ORDER BY feed_seq LIMIT 1), ?);

-- openMissed
SELECT missed, missed_from FROM outbox_subscriptions WHERE id = ? AND state <= 2;

-- pauseSubscription
UPDATE outbox_subscriptions
SET state = 1, since_ms = (CAST(unixepoch('subsec') * 1000 AS INTEGER)), kept = 0, version = version + 1
WHERE name = ? AND state = 0;

-- probe
SELECT id, (CAST(unixepoch('subsec') * 1000 AS INTEGER)), rest_ms, COALESCE(CASE WHEN in_order = 1 THEN (
         SELECT due_ms FROM outbox_webhook_deliveries INDEXED BY outbox_webhook_deliveries_order WHERE subscription_id = id AND state <= 0
          ORDER BY subscription_id, state, feed_seq LIMIT 1
       ) ELSE (
         SELECT due_ms FROM outbox_webhook_deliveries INDEXED BY outbox_webhook_deliveries_due WHERE subscription_id = id AND state <= 0
          ORDER BY subscription_id, state, due_ms, feed_seq LIMIT 1
       ) END, -1)
FROM outbox_subscriptions WHERE state = 0;

-- published
SELECT f.feed_seq, e.seq, e.topic
FROM outbox_feed f JOIN outbox_events e ON e.seq = f.seq
WHERE f.feed_seq >= ? AND f.feed_seq <= ?
ORDER BY f.feed_seq
LIMIT ?;

-- raiseIDs
UPDATE outbox_counters SET value = ? WHERE name = 'subscription_id';

-- readEndpoint
SELECT url, in_order, headers, secrets, state, rest_ms, failing_ms, failures, version, (CAST(unixepoch('subsec') * 1000 AS INTEGER))
FROM outbox_subscriptions
WHERE id = ? AND state <= 2;

-- readEvents
SELECT seq, feed_seq, id, topic, headers, LENGTH(payload), CASE WHEN LENGTH(payload) <= 16384 THEN payload END
FROM outbox_events
WHERE seq IN (?, ?);

-- readInfo
SELECT id, name, url, topics, in_order, headers, state, since_ms, reason, created_ms, rest_ms, failing_ms, failures, kept,
       missed, missed_from, kept_max, hold_ms
FROM outbox_subscriptions WHERE state <= 2 AND name = ?;

-- readInfos
SELECT id, name, url, topics, in_order, headers, state, since_ms, reason, created_ms, rest_ms, failing_ms, failures, kept,
       missed, missed_from, kept_max, hold_ms
FROM outbox_subscriptions WHERE state <= 2 ORDER BY name;

-- readPayload
SELECT payload FROM outbox_events WHERE seq = ?;

-- readSecrets
SELECT secrets, (CAST(unixepoch('subsec') * 1000 AS INTEGER))
FROM outbox_subscriptions
WHERE name = ? AND state <= 2;

-- readVersion
SELECT version FROM outbox_subscriptions WHERE id = ?;

-- recordAgain
UPDATE outbox_webhook_deliveries SET due_ms = (CAST(unixepoch('subsec') * 1000 AS INTEGER)) + ?, claimed_by = '', attempts = attempts + 1, last_status = ?, last_ms = ?, last_answer = ?, last_error = ?
WHERE subscription_id = ? AND feed_seq = ? AND claimed_by = ? AND state = 0;

-- recordDead
UPDATE outbox_webhook_deliveries SET state = 2, due_ms = (CAST(unixepoch('subsec') * 1000 AS INTEGER)), settled_ms = (CAST(unixepoch('subsec') * 1000 AS INTEGER)), claimed_by = '', attempts = attempts + 1, last_status = ?, last_ms = ?, last_answer = ?, last_error = ?
WHERE subscription_id = ? AND feed_seq = ? AND claimed_by = ? AND state = 0;

-- recordDone
UPDATE outbox_webhook_deliveries SET state = 1, due_ms = (CAST(unixepoch('subsec') * 1000 AS INTEGER)), settled_ms = (CAST(unixepoch('subsec') * 1000 AS INTEGER)), claimed_by = '', attempts = attempts + 1, last_status = ?, last_ms = ?, last_answer = ?, last_error = ?
WHERE subscription_id = ? AND feed_seq = ? AND claimed_by = ? AND state = 0;

-- resumeSubscription
UPDATE outbox_subscriptions
SET state = 0, since_ms = (CAST(unixepoch('subsec') * 1000 AS INTEGER)), reason = '', rest_ms = 0, failing_ms = 0, failures = 0, kept = 0, version = version + 1
WHERE name = ? AND state IN (1, 2);

-- selectInfos
SELECT id, name, url, topics, in_order, headers, state, since_ms, reason, created_ms, rest_ms, failing_ms, failures, kept,
       missed, missed_from, kept_max, hold_ms
FROM outbox_subscriptions;

-- sendAgain
UPDATE outbox_webhook_deliveries SET state = 0, attempts = 0, claimed_by = '', settled_ms = 0, due_ms = (CAST(unixepoch('subsec') * 1000 AS INTEGER)) + ?
WHERE subscription_id = ? AND feed_seq IN (?, ?) AND state > 0;

-- settledDeliveries
SELECT feed_seq FROM outbox_webhook_deliveries INDEXED BY outbox_webhook_deliveries_order
WHERE subscription_id = ? AND state > ? AND state < ? AND feed_seq >= ? AND feed_seq <= ? ORDER BY state, feed_seq LIMIT ?;

-- sweepList
SELECT id, state, since_ms, hold_ms, (CAST(unixepoch('subsec') * 1000 AS INTEGER)) FROM outbox_subscriptions ORDER BY id;

-- takeID
UPDATE outbox_counters SET value = value + 1, at_ms = (CAST(unixepoch('subsec') * 1000 AS INTEGER)) WHERE name = 'subscription_id';

-- takenID
SELECT value, COALESCE((SELECT id FROM outbox_subscriptions ORDER BY id DESC LIMIT 1), 0),
       COALESCE((SELECT subscription_id FROM outbox_webhook_deliveries ORDER BY subscription_id DESC, feed_seq DESC LIMIT 1), 0)
FROM outbox_counters WHERE name = 'subscription_id';

-- unclaim
UPDATE outbox_webhook_deliveries SET claimed_by = '', due_ms = (CAST(unixepoch('subsec') * 1000 AS INTEGER)) WHERE subscription_id = ? AND state = 0 AND claimed_by = ?;

-- updateHeaders
UPDATE outbox_subscriptions
SET headers = ?, version = version + 1
WHERE name = ? AND state <= 2;

-- updateSecrets
UPDATE outbox_subscriptions
SET secrets = ?, version = version + 1
WHERE name = ? AND state <= 2;

-- updateSubscription
UPDATE outbox_subscriptions
SET failing_ms = CASE WHEN url = ? THEN failing_ms ELSE 0 END, failures = CASE WHEN url = ? THEN failures ELSE 0 END,
    rest_ms = CASE WHEN url = ? THEN rest_ms ELSE 0 END, url = ?, topics = ?, in_order = ?, kept_max = ?, hold_ms = ?, version = version + 1
WHERE name = ? AND state <= 2;

-- wasGone
SELECT COUNT(*) FROM outbox_webhook_deliveries WHERE subscription_id = ? AND feed_seq = ? AND state = 2 AND last_status = 410;

-- whoFails
SELECT name, failing_ms, failures, (CAST(unixepoch('subsec') * 1000 AS INTEGER)) FROM outbox_subscriptions WHERE id = ? AND state = 0 AND version = ?;

