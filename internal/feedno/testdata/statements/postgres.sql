-- highest
SELECT COALESCE((SELECT feed_seq FROM outbox_feed ORDER BY feed_seq DESC LIMIT 1), 0),
       COALESCE((SELECT MAX((SELECT feed_seq FROM outbox_webhook_deliveries WHERE subscription_id = id ORDER BY subscription_id DESC, feed_seq DESC LIMIT 1))
          FROM outbox_subscriptions), 0),
       COALESCE((SELECT MAX(feed_seq) FROM outbox_cursors), 0);

-- insertCounter
INSERT INTO outbox_counters (name) VALUES ('feed') ON CONFLICT (name) DO NOTHING;

-- insertEpoch
INSERT INTO outbox_counters (name, value) VALUES ('feed_epoch', ((EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT)) ON CONFLICT (name) DO NOTHING;

-- insertRows
INSERT INTO outbox_feed (feed_seq, seq, published_ms) VALUES ($1, $2, ((EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT)), ($3, $4, ((EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT));

-- insertRows of before
INSERT INTO outbox_feed (feed_seq, seq, published_ms) VALUES ($1, $2, $3), ($4, $5, $6);

-- raise
UPDATE outbox_counters SET value = $1 WHERE name = 'feed' AND value < $2;

-- readState
SELECT name, value FROM outbox_counters WHERE name IN ('feed', 'feed_epoch');

-- take
UPDATE outbox_counters SET value = value + $1, at_ms = ((EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT) WHERE name = 'feed';

-- taken
SELECT name, value FROM outbox_counters WHERE name IN ('feed', 'subscriptions');

