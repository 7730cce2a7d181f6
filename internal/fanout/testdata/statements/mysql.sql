-- countSubscriptions
SELECT COUNT(*) FROM outbox_subscriptions WHERE state <= 1;

-- insertDeliveries
INSERT INTO outbox_webhook_deliveries (subscription_id, feed_seq, seq, due_ms, created_ms) VALUES (?, ?, ?, (TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) DIV 1000) + ?, (TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) DIV 1000)), (?, ?, ?, (TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) DIV 1000) + ?, (TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) DIV 1000));

-- keep
UPDATE outbox_subscriptions
SET kept = kept + ?, missed = missed + ?, missed_from = CASE WHEN missed_from = 0 THEN ? ELSE missed_from END
WHERE id = ?;

-- lockFeed
SELECT value FROM outbox_counters WHERE name = 'feed' FOR UPDATE;

-- readRoom
SELECT kept, kept_max FROM outbox_subscriptions WHERE id = ?;

-- readSubscriptions
SELECT id, topics, state FROM outbox_subscriptions WHERE state <= 1 ORDER BY id;

