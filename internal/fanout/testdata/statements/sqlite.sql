-- countSubscriptions
SELECT COUNT(*) FROM outbox_subscriptions WHERE state <= 1;

-- insertDeliveries
INSERT INTO outbox_webhook_deliveries (subscription_id, feed_seq, seq, due_ms, created_ms) VALUES (?, ?, ?, (CAST(unixepoch('subsec') * 1000 AS INTEGER)) + ?, (CAST(unixepoch('subsec') * 1000 AS INTEGER))), (?, ?, ?, (CAST(unixepoch('subsec') * 1000 AS INTEGER)) + ?, (CAST(unixepoch('subsec') * 1000 AS INTEGER)));

-- keep
UPDATE outbox_subscriptions
SET kept = kept + ?, missed = missed + ?, missed_from = CASE WHEN missed_from = 0 THEN ? ELSE missed_from END
WHERE id = ?;

-- lockFeed
SELECT value FROM outbox_counters WHERE name = 'feed';

-- readRoom
SELECT kept, kept_max FROM outbox_subscriptions WHERE id = ?;

-- readSubscriptions
SELECT id, topics, state FROM outbox_subscriptions WHERE state <= 1 ORDER BY id;

