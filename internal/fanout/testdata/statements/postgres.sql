-- countSubscriptions
SELECT COUNT(*) FROM outbox_subscriptions WHERE state <= 1;

-- insertDeliveries
INSERT INTO outbox_webhook_deliveries (subscription_id, feed_seq, seq, due_ms, created_ms) VALUES ($1, $2, $3, ((EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT) + $4, ((EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT)), ($5, $6, $7, ((EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT) + $8, ((EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT));

-- keep
UPDATE outbox_subscriptions
SET kept = kept + $1, missed = missed + $2, missed_from = CASE WHEN missed_from = 0 THEN $3 ELSE missed_from END
WHERE id = $4;

-- lockFeed
SELECT value FROM outbox_counters WHERE name = 'feed' FOR UPDATE;

-- readRoom
SELECT kept, kept_max FROM outbox_subscriptions WHERE id = $1;

-- readSubscriptions
SELECT id, topics, state FROM outbox_subscriptions WHERE state <= 1 ORDER BY id;

