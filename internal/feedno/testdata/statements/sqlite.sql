-- highest
SELECT COALESCE((SELECT feed_seq FROM outbox_feed ORDER BY feed_seq DESC LIMIT 1), 0),
       COALESCE((SELECT MAX((SELECT feed_seq FROM outbox_webhook_deliveries WHERE subscription_id = id ORDER BY subscription_id DESC, feed_seq DESC LIMIT 1))
          FROM outbox_subscriptions), 0),
       COALESCE((SELECT MAX(feed_seq) FROM outbox_cursors), 0);

-- insertCounter
INSERT INTO outbox_counters (name) VALUES ('feed') ON CONFLICT (name) DO NOTHING;

-- insertEpoch
INSERT INTO outbox_counters (name, value) VALUES ('feed_epoch', (CAST(unixepoch('subsec') * 1000 AS INTEGER))) ON CONFLICT (name) DO NOTHING;

-- insertRows
INSERT INTO outbox_feed (feed_seq, seq, published_ms) VALUES (?, ?, (CAST(unixepoch('subsec') * 1000 AS INTEGER))), (?, ?, (CAST(unixepoch('subsec') * 1000 AS INTEGER)));

-- insertRows of before
INSERT INTO outbox_feed (feed_seq, seq, published_ms) VALUES (?, ?, ?), (?, ?, ?);

-- raise
UPDATE outbox_counters SET value = ? WHERE name = 'feed' AND value < ?;

-- readState
SELECT name, value FROM outbox_counters WHERE name IN ('feed', 'feed_epoch');

-- take
UPDATE outbox_counters SET value = value + ?, at_ms = (CAST(unixepoch('subsec') * 1000 AS INTEGER)) WHERE name = 'feed';

-- taken
SELECT name, value FROM outbox_counters WHERE name IN ('feed', 'subscriptions');

