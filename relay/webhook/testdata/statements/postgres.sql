-- anyDeliveries
SELECT feed_seq FROM outbox_webhook_deliveries WHERE subscription_id = $1 ORDER BY feed_seq LIMIT $2 FOR UPDATE;

-- claimDeliveries
UPDATE outbox_webhook_deliveries SET claimed_by = $1, due_ms = ((EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT) + $2
WHERE subscription_id = $3 AND feed_seq IN ($4, $5) AND state = 0;

-- closeMissed
UPDATE outbox_subscriptions SET missed = 0, missed_from = CASE WHEN state = 2 THEN $1 ELSE 0 END, version = version + 1
WHERE id = $2 AND missed_from > 0;

-- countDeliveries
SELECT state, COUNT(*) FROM outbox_webhook_deliveries WHERE subscription_id = $1 GROUP BY state;

-- deleteMissed
DELETE FROM outbox_webhook_deliveries WHERE subscription_id = $1 AND feed_seq = $2 AND state = 3;

-- delivered
SELECT feed_seq
FROM outbox_webhook_deliveries
WHERE subscription_id = $1 AND feed_seq >= $2 AND feed_seq <= $3 AND state + 0 <= 2
ORDER BY feed_seq
LIMIT $4;

-- disableSubscription
UPDATE outbox_subscriptions
SET state = 2, since_ms = ((EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT), reason = $1, missed_from = CASE WHEN missed_from = 0 THEN $2 ELSE missed_from END, version = version + 1
WHERE id = $3 AND state = 0;

-- dropAny
DELETE FROM outbox_webhook_deliveries WHERE subscription_id = $1 AND feed_seq IN ($2, $3);

-- dropDeliveries
DELETE FROM outbox_webhook_deliveries WHERE subscription_id = $1 AND feed_seq IN ($2, $3) AND state > 0;

-- dropSubscribed
DELETE FROM outbox_subscriptions WHERE id = $1 AND state = 3;

-- endpointFails
UPDATE outbox_subscriptions
SET failing_ms = CASE WHEN failing_ms = 0 THEN ((EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT) ELSE failing_ms END, failures = failures + $1
WHERE id = $2 AND version = $3;

-- endpointRests
UPDATE outbox_subscriptions
SET rest_ms = CASE WHEN rest_ms < ((EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT) + $1 THEN ((EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT) + $2 ELSE rest_ms END
WHERE id = $3 AND version = $4;

-- endpointWorks
UPDATE outbox_subscriptions SET failing_ms = 0, failures = 0 WHERE id = $1 AND version = $2;

-- expire
UPDATE outbox_webhook_deliveries SET state = 2, claimed_by = '', due_ms = ((EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT), settled_ms = ((EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT),
       last_error = 'the subscription was not active for too long'
WHERE subscription_id = $1 AND feed_seq IN ($2, $3) AND state = 0;

-- findSubscription
SELECT id FROM outbox_subscriptions WHERE name = $1 AND state <= 2;

-- freeFirst
UPDATE outbox_webhook_deliveries
SET due_ms = ((EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT), claimed_by = ''
WHERE subscription_id = $1 AND feed_seq = $2 AND state = 0 AND claimed_by = $3;

-- giveBack
UPDATE outbox_webhook_deliveries SET due_ms = ((EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT) + $1, claimed_by = ''
WHERE subscription_id = $2 AND claimed_by = $3 AND state = 0 AND feed_seq IN ($4, $5);

-- holdFirst
UPDATE outbox_webhook_deliveries
SET claimed_by = $1, due_ms = ((EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT) + $2
WHERE subscription_id = $3 AND feed_seq = $4 AND state = 0;

-- insertIDs
INSERT INTO outbox_counters (name) VALUES ('subscription_id') ON CONFLICT (name) DO NOTHING;

-- insertMissed
INSERT INTO outbox_webhook_deliveries (subscription_id, feed_seq, seq, state, attempts, created_ms)
VALUES ($1, $2, $3, 3, $4, ((EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT));

-- insertSubscription
INSERT INTO outbox_subscriptions
       (id, name, url, topics, in_order, headers, secrets, kept_max, hold_ms, created_ms, since_ms)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, ((EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT), ((EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT));

-- keepFirst
UPDATE outbox_webhook_deliveries
SET due_ms = ((EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT) + $1
WHERE subscription_id = $2 AND feed_seq = $3 AND state = 0 AND claimed_by = $4;

-- listDeliveries
SELECT d.feed_seq, COALESCE(e.id, ''), COALESCE(e.topic, ''), d.state, d.attempts, d.created_ms, d.due_ms, d.settled_ms,
       d.last_status, d.last_ms, d.last_answer, d.last_error
FROM outbox_webhook_deliveries d LEFT JOIN outbox_events e ON e.seq = d.seq
WHERE d.subscription_id = $1 AND d.state > $2 AND d.state < $3 AND d.feed_seq > $4 ORDER BY d.state, d.feed_seq LIMIT $5;

-- listMissed
SELECT feed_seq, seq, attempts FROM outbox_webhook_deliveries
WHERE subscription_id = $1 AND state > 2 AND state < 4 ORDER BY state, feed_seq;

-- lockPurge
SELECT value FROM outbox_counters WHERE name = 'feed_epoch' FOR UPDATE;

-- lockState
SELECT state, since_ms, hold_ms, ((EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT) FROM outbox_subscriptions WHERE id = $1 FOR UPDATE;

-- lockTopics
SELECT topics FROM outbox_subscriptions WHERE id = $1 AND state <= 2 FOR UPDATE;

-- markDeleted
UPDATE outbox_subscriptions
SET state = 3, name = $1, since_ms = ((EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT), secrets = '', headers = '', version = version + 1
WHERE name = $2 AND state <= 2;

-- nextDue
SELECT feed_seq, seq, attempts, due_ms FROM outbox_webhook_deliveries
WHERE subscription_id = $1 AND state = 0 AND due_ms <= $2 ORDER BY due_ms, feed_seq LIMIT $3 FOR UPDATE SKIP LOCKED;

-- nextInOrder
SELECT feed_seq, seq, attempts, due_ms FROM outbox_webhook_deliveries
WHERE subscription_id = $1 AND state <= 0 ORDER BY state, feed_seq LIMIT $2 FOR UPDATE;

-- oldDeliveries
SELECT feed_seq FROM outbox_webhook_deliveries
WHERE subscription_id = $1 AND state = $2 AND due_ms < $3 ORDER BY due_ms, feed_seq LIMIT $4 FOR UPDATE SKIP LOCKED;

-- oldestPlace
SELECT COALESCE((SELECT feed_seq FROM outbox_feed ORDER BY feed_seq LIMIT 1), $1);

-- openMissed
SELECT missed, missed_from FROM outbox_subscriptions WHERE id = $1 AND state <= 2;

-- pauseSubscription
UPDATE outbox_subscriptions
SET state = 1, since_ms = ((EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT), kept = 0, version = version + 1
WHERE name = $1 AND state = 0;

-- probe
SELECT id, ((EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT), rest_ms, COALESCE(CASE WHEN in_order = 1 THEN (
         SELECT due_ms FROM outbox_webhook_deliveries WHERE subscription_id = id AND state <= 0
          ORDER BY subscription_id, state, feed_seq LIMIT 1
       ) ELSE (
         SELECT due_ms FROM outbox_webhook_deliveries WHERE subscription_id = id AND state <= 0
          ORDER BY subscription_id, state, due_ms, feed_seq LIMIT 1
       ) END, -1)
FROM outbox_subscriptions WHERE state = 0;

-- published
SELECT f.feed_seq, e.seq, e.topic
FROM outbox_feed f JOIN outbox_events e ON e.seq = f.seq
WHERE f.feed_seq >= $1 AND f.feed_seq <= $2
ORDER BY f.feed_seq
LIMIT $3;

-- raiseIDs
UPDATE outbox_counters SET value = $1 WHERE name = 'subscription_id';

-- readEndpoint
SELECT url, in_order, headers, secrets, state, rest_ms, failing_ms, failures, version, ((EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT)
FROM outbox_subscriptions
WHERE id = $1 AND state <= 2;

-- readEvents
SELECT seq, feed_seq, id, topic, headers, LENGTH(payload), CASE WHEN LENGTH(payload) <= 16384 THEN payload END
FROM outbox_events
WHERE seq IN ($1, $2);

-- readInfo
SELECT id, name, url, topics, in_order, headers, state, since_ms, reason, created_ms, rest_ms, failing_ms, failures, kept,
       missed, missed_from, kept_max, hold_ms
FROM outbox_subscriptions WHERE state <= 2 AND name = $1;

-- readInfos
SELECT id, name, url, topics, in_order, headers, state, since_ms, reason, created_ms, rest_ms, failing_ms, failures, kept,
       missed, missed_from, kept_max, hold_ms
FROM outbox_subscriptions WHERE state <= 2 ORDER BY name;

-- readPayload
SELECT payload FROM outbox_events WHERE seq = $1;

-- readSecrets
SELECT secrets, ((EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT)
FROM outbox_subscriptions
WHERE name = $1 AND state <= 2 FOR UPDATE;

-- readVersion
SELECT version FROM outbox_subscriptions WHERE id = $1;

-- recordAgain
UPDATE outbox_webhook_deliveries SET due_ms = ((EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT) + $1, claimed_by = '', attempts = attempts + 1, last_status = $2, last_ms = $3, last_answer = $4, last_error = $5
WHERE subscription_id = $6 AND feed_seq = $7 AND claimed_by = $8 AND state = 0;

-- recordDead
UPDATE outbox_webhook_deliveries SET state = 2, due_ms = ((EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT), settled_ms = ((EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT), claimed_by = '', attempts = attempts + 1, last_status = $1, last_ms = $2, last_answer = $3, last_error = $4
WHERE subscription_id = $5 AND feed_seq = $6 AND claimed_by = $7 AND state = 0;

-- recordDone
UPDATE outbox_webhook_deliveries SET state = 1, due_ms = ((EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT), settled_ms = ((EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT), claimed_by = '', attempts = attempts + 1, last_status = $1, last_ms = $2, last_answer = $3, last_error = $4
WHERE subscription_id = $5 AND feed_seq = $6 AND claimed_by = $7 AND state = 0;

-- resumeSubscription
UPDATE outbox_subscriptions
SET state = 0, since_ms = ((EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT), reason = '', rest_ms = 0, failing_ms = 0, failures = 0, kept = 0, version = version + 1
WHERE name = $1 AND state IN (1, 2);

-- selectInfos
SELECT id, name, url, topics, in_order, headers, state, since_ms, reason, created_ms, rest_ms, failing_ms, failures, kept,
       missed, missed_from, kept_max, hold_ms
FROM outbox_subscriptions;

-- sendAgain
UPDATE outbox_webhook_deliveries SET state = 0, attempts = 0, claimed_by = '', settled_ms = 0, due_ms = ((EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT) + $1
WHERE subscription_id = $2 AND feed_seq IN ($3, $4) AND state > 0;

-- settledDeliveries
SELECT feed_seq FROM outbox_webhook_deliveries
WHERE subscription_id = $1 AND state > $2 AND state < $3 AND feed_seq >= $4 AND feed_seq <= $5 ORDER BY state, feed_seq LIMIT $6 FOR UPDATE;

-- sweepList
SELECT id, state, since_ms, hold_ms, ((EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT) FROM outbox_subscriptions ORDER BY id;

-- takeID
UPDATE outbox_counters SET value = value + 1, at_ms = ((EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT) WHERE name = 'subscription_id';

-- takenID
SELECT value, COALESCE((SELECT id FROM outbox_subscriptions ORDER BY id DESC LIMIT 1), 0),
       COALESCE((SELECT subscription_id FROM outbox_webhook_deliveries ORDER BY subscription_id DESC, feed_seq DESC LIMIT 1), 0)
FROM outbox_counters WHERE name = 'subscription_id';

-- unclaim
UPDATE outbox_webhook_deliveries SET claimed_by = '', due_ms = ((EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT) WHERE subscription_id = $1 AND state = 0 AND claimed_by = $2;

-- updateHeaders
UPDATE outbox_subscriptions
SET headers = $1, version = version + 1
WHERE name = $2 AND state <= 2;

-- updateSecrets
UPDATE outbox_subscriptions
SET secrets = $1, version = version + 1
WHERE name = $2 AND state <= 2;

-- updateSubscription
UPDATE outbox_subscriptions
SET failing_ms = CASE WHEN url = $1 THEN failing_ms ELSE 0 END, failures = CASE WHEN url = $2 THEN failures ELSE 0 END,
    rest_ms = CASE WHEN url = $3 THEN rest_ms ELSE 0 END, url = $4, topics = $5, in_order = $6, kept_max = $7, hold_ms = $8, version = version + 1
WHERE name = $9 AND state <= 2;

-- wasGone
SELECT COUNT(*) FROM outbox_webhook_deliveries WHERE subscription_id = $1 AND feed_seq = $2 AND state = 2 AND last_status = 410;

-- whoFails
SELECT name, failing_ms, failures, ((EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT) FROM outbox_subscriptions WHERE id = $1 AND state = 0 AND version = $2 FOR UPDATE;

