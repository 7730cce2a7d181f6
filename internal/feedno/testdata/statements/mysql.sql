-- highest
SELECT COALESCE((SELECT feed_seq FROM outbox_feed ORDER BY feed_seq DESC LIMIT 1), 0),
       COALESCE((SELECT MAX((SELECT feed_seq FROM outbox_webhook_deliveries WHERE subscription_id = id ORDER BY subscription_id DESC, feed_seq DESC LIMIT 1))
          FROM outbox_subscriptions), 0),
       COALESCE((SELECT MAX(feed_seq) FROM outbox_cursors), 0);

-- insertCounter
INSERT INTO outbox_counters (name) VALUES ('feed') ON DUPLICATE KEY UPDATE name = name;

-- insertEpoch
INSERT INTO outbox_counters (name, value) VALUES ('feed_epoch', (TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) DIV 1000)) ON DUPLICATE KEY UPDATE name = name;

-- insertRows
INSERT INTO outbox_feed (feed_seq, seq, published_ms) VALUES (?, ?, (TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) DIV 1000)), (?, ?, (TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) DIV 1000));

-- insertRows of before
INSERT INTO outbox_feed (feed_seq, seq, published_ms) VALUES (?, ?, ?), (?, ?, ?);

-- raise
UPDATE outbox_counters SET value = ? WHERE name = 'feed' AND value < ?;

-- readState
SELECT name, value FROM outbox_counters WHERE name IN ('feed', 'feed_epoch');

-- take
UPDATE outbox_counters SET value = value + ?, at_ms = (TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) DIV 1000) WHERE name = 'feed';

-- taken
SELECT name, value FROM outbox_counters WHERE name IN ('feed', 'subscriptions');

