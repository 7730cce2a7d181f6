-- countBehind
SELECT COUNT(*) FROM outbox_events INDEXED BY outbox_events_pending WHERE state > 0 AND state < 2 AND seq > ?;

-- countDead
SELECT COUNT(*) FROM outbox_events INDEXED BY outbox_events_pending WHERE state = 2;

-- countDeliveries
SELECT state, COUNT(*) FROM outbox_deliveries WHERE handler = ? GROUP BY state;

-- countDue
SELECT COUNT(*) FROM outbox_events INDEXED BY outbox_events_due WHERE state = 0 AND due_ms <= ?;

-- countHeld
SELECT COUNT(*) FROM outbox_events INDEXED BY outbox_events_pending WHERE state = 4;

-- countHeldKeys
SELECT COUNT(DISTINCT event_key) FROM outbox_held;

-- countOverdue
SELECT COUNT(*) FROM outbox_events INDEXED BY outbox_events_due WHERE state = 3 AND due_ms <= ?;

-- countPaused
SELECT COUNT(*) FROM outbox_events INDEXED BY outbox_events_pending WHERE state = 6;

-- countPending
SELECT COUNT(*) FROM outbox_events INDEXED BY outbox_events_pending WHERE state = 0;

-- countPublished
SELECT COUNT(*) FROM outbox_events INDEXED BY outbox_events_pending WHERE state = 1;

-- countRetrying
SELECT COUNT(*) FROM outbox_events INDEXED BY outbox_events_due WHERE state = 5 AND due_ms <= ?;

-- countScheduled
SELECT COUNT(*) FROM outbox_events INDEXED BY outbox_events_due WHERE state = 3 AND due_ms > ?;

-- countTotal
SELECT COUNT(*) FROM outbox_relays WHERE order_name = 'total' AND NOT (until_ms <= (CAST(unixepoch('subsec') * 1000 AS INTEGER)) OR until_ms > (CAST(unixepoch('subsec') * 1000 AS INTEGER)) + 2 * (until_ms - seen_ms));

-- countWaiting
SELECT COUNT(*) FROM outbox_events INDEXED BY outbox_events_pending WHERE state = 5;

-- deadColumns
SELECT seq, id, topic, event_key, headers, payload, attempts, total_attempts, last_error,
       created_ms, first_failed_ms, settled_ms FROM outbox_events INDEXED BY outbox_events_pending
WHERE state = 2 AND seq > ? AND settled_ms >= ? AND settled_ms < ? AND topic = ? ORDER BY seq LIMIT ?;

-- deadSeqs
SELECT seq FROM outbox_events INDEXED BY outbox_events_pending
WHERE state = 2 AND seq > ? AND settled_ms >= ? AND settled_ms < ? ORDER BY seq LIMIT ?;

-- deleteCursor
DELETE FROM outbox_cursors WHERE name = ?;

-- deletePause
DELETE FROM outbox_pauses WHERE topic = ?;

-- discardSeqs
DELETE FROM outbox_events WHERE seq IN (?, ?) AND state = 2;

-- dueByTopic
SELECT state, topic, COUNT(*), MIN(due_ms) FROM (
  SELECT * FROM (SELECT state, topic, due_ms FROM outbox_events INDEXED BY outbox_events_due WHERE state = 0 AND due_ms <= ? ORDER BY due_ms, seq LIMIT ?) pending
  UNION ALL
  SELECT * FROM (SELECT state, topic, due_ms FROM outbox_events INDEXED BY outbox_events_due WHERE state = 3 AND due_ms <= ? ORDER BY due_ms, seq LIMIT ?) scheduled
  UNION ALL
  SELECT * FROM (SELECT state, topic, due_ms FROM outbox_events INDEXED BY outbox_events_due WHERE state = 5 AND due_ms <= ? ORDER BY due_ms, seq LIMIT ?) waiting
) due GROUP BY state, topic;

-- endFill
UPDATE outbox_counters SET value = 0, at_ms = 0 WHERE name = 'feed_fill';

-- feedBegins
SELECT feed_seq, seq, published_ms FROM outbox_feed WHERE feed_seq <= ? ORDER BY feed_seq LIMIT ?;

-- feedEvents
SELECT seq, id, topic, event_key, headers, payload, created_ms FROM outbox_events WHERE seq IN (?, ?);

-- feedPage
SELECT f.feed_seq, f.seq, f.published_ms, COALESCE(e.topic, '')
FROM outbox_feed f LEFT JOIN outbox_events e ON e.seq = f.seq
WHERE f.feed_seq > ? ORDER BY f.feed_seq LIMIT ?;

-- feedSizes
SELECT seq, LENGTH(payload) FROM outbox_events WHERE seq IN (?, ?);

-- firstDue
SELECT state, created_ms, due_ms, first_failed_ms, total_attempts - attempts,
       CASE WHEN claim_token > 0 OR last_error <> '' THEN 1 ELSE 0 END FROM outbox_events INDEXED BY outbox_events_due WHERE state = 0 AND due_ms <= ? ORDER BY due_ms, seq LIMIT 1;

-- firstOverdue
SELECT state, created_ms, due_ms, first_failed_ms, total_attempts - attempts,
       CASE WHEN claim_token > 0 OR last_error <> '' THEN 1 ELSE 0 END FROM outbox_events INDEXED BY outbox_events_due WHERE state = 3 AND due_ms <= ? ORDER BY due_ms, seq LIMIT 1;

-- forgetAll
DELETE FROM outbox_deliveries WHERE since_ms >= 0 AND handler = ? AND seq IN (?, ?);

-- forgetFailed
DELETE FROM outbox_deliveries WHERE state NOT IN (1, 2) AND handler = ? AND seq IN (?, ?);

-- guardedMessage
INSERT INTO outbox_inbox (consumer, message_id, received_ms) VALUES (?, ?, (CAST(unixepoch('subsec') * 1000 AS INTEGER))) ON CONFLICT (message_id, consumer) DO NOTHING;

-- handlersBegin
SELECT from_seq, replayed_to, topics FROM outbox_handlers;

-- heldKeys
SELECT h.seq, h.event_key, h.since_ms, COALESCE(e.id, ''), COALESCE(e.topic, ''), COALESCE(e.state, 1),
       COALESCE(e.attempts, 0), COALESCE(e.last_error, ''), COALESCE(e.due_ms, 0)
FROM outbox_held h LEFT JOIN outbox_events e ON e.seq = h.seq
WHERE h.seq > ? AND h.seq = (SELECT MIN(f.seq) FROM outbox_held f WHERE f.event_key = h.event_key) ORDER BY h.seq LIMIT ?;

-- heldKeys of one
SELECT h.seq, h.event_key, h.since_ms, COALESCE(e.id, ''), COALESCE(e.topic, ''), COALESCE(e.state, 1),
       COALESCE(e.attempts, 0), COALESCE(e.last_error, ''), COALESCE(e.due_ms, 0)
FROM outbox_held h LEFT JOIN outbox_events e ON e.seq = h.seq
WHERE h.seq > ? AND h.seq = (SELECT MIN(f.seq) FROM outbox_held f WHERE f.event_key = h.event_key) AND h.event_key = ? ORDER BY h.seq LIMIT ?;

-- highestSeq
SELECT MAX(n) FROM (
SELECT COALESCE(MAX(seq), 0) AS n FROM outbox_feed UNION ALL
SELECT COALESCE(MAX(seq), 0) FROM outbox_held UNION ALL
SELECT COALESCE(MAX(seq), 0) FROM outbox_deliveries) remembered;

-- holdCursor
UPDATE outbox_cursors SET hold_ms = ?, seen_ms = (CAST(unixepoch('subsec') * 1000 AS INTEGER)), version = version + 1 WHERE name = ?;

-- insertCursor
INSERT INTO outbox_cursors (name, epoch, feed_seq) VALUES (?, ?, ?) ON CONFLICT (name) DO NOTHING;

-- insertFill
INSERT INTO outbox_counters (name) VALUES ('feed_fill') ON CONFLICT (name) DO NOTHING;

-- insertLater
INSERT INTO outbox_events (id, topic, event_key, partition_no, headers, payload, state, due_ms) VALUES (?, ?, ?, ?, ?, ?, 3, (CAST(unixepoch('subsec') * 1000 AS INTEGER)) + ?), (?, ?, ?, ?, ?, ?, 3, (CAST(unixepoch('subsec') * 1000 AS INTEGER)) + ?);

-- insertLater guarded
INSERT INTO outbox_events (id, topic, event_key, partition_no, headers, payload, state, due_ms) VALUES (?, ?, ?, ?, ?, ?, 3, (CAST(unixepoch('subsec') * 1000 AS INTEGER)) + ?), (?, ?, ?, ?, ?, ?, 3, (CAST(unixepoch('subsec') * 1000 AS INTEGER)) + ?);

-- insertMessage
INSERT INTO outbox_inbox (consumer, message_id, received_ms) VALUES (?, ?, (CAST(unixepoch('subsec') * 1000 AS INTEGER))) ON CONFLICT (message_id, consumer) DO NOTHING;

-- insertNow
INSERT INTO outbox_events (id, topic, event_key, partition_no, headers, payload) VALUES (?, ?, ?, ?, ?, ?), (?, ?, ?, ?, ?, ?);

-- insertNow guarded
INSERT INTO outbox_events (id, topic, event_key, partition_no, headers, payload) VALUES (?, ?, ?, ?, ?, ?), (?, ?, ?, ?, ?, ?);

-- insertNow ignoring duplicates
INSERT INTO outbox_events (id, topic, event_key, partition_no, headers, payload) VALUES (?, ?, ?, ?, ?, ?), (?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING;

-- insertPause
INSERT INTO outbox_pauses (topic, since_ms) VALUES (?, (CAST(unixepoch('subsec') * 1000 AS INTEGER))) ON CONFLICT (topic) DO NOTHING;

-- lastDelivered
SELECT s.id, COALESCE((SELECT d.seq FROM outbox_webhook_deliveries d WHERE d.subscription_id = s.id
                     ORDER BY d.subscription_id DESC, d.feed_seq DESC LIMIT 1), 0)
FROM outbox_subscriptions s;

-- latelyDelivered
SELECT COALESCE(MAX(seq), 0) FROM (
       SELECT seq FROM outbox_webhook_deliveries WHERE subscription_id = ? ORDER BY feed_seq DESC LIMIT 1000
       ) d;

-- lockDead
SELECT seq, feed_seq FROM outbox_events INDEXED BY outbox_events_pending WHERE state = 2 AND seq IN (?, ?) ORDER BY seq;

-- lockFeed
SELECT value FROM outbox_counters WHERE name = 'feed_epoch';

-- lockFill
SELECT value, at_ms FROM outbox_counters WHERE name = 'feed_fill';

-- lockHandler
SELECT topics FROM outbox_handlers WHERE name = ?;

-- lockUnnumbered
SELECT seq, settled_ms FROM outbox_events WHERE seq IN (?, ?) AND state = 1 AND feed_seq = 0 ORDER BY seq;

-- longestDue
SELECT (SELECT due_ms FROM outbox_events INDEXED BY outbox_events_due WHERE state = 0 ORDER BY due_ms, seq LIMIT 1),
       (SELECT due_ms FROM outbox_events INDEXED BY outbox_events_due WHERE state = 3 ORDER BY due_ms, seq LIMIT 1),
       (SELECT due_ms FROM outbox_events INDEXED BY outbox_events_due WHERE state = 5 ORDER BY due_ms, seq LIMIT 1);

-- lowestOwed
SELECT COALESCE(MIN((
         SELECT feed_seq FROM outbox_webhook_deliveries INDEXED BY outbox_webhook_deliveries_order WHERE subscription_id = id AND state <= 0
          ORDER BY subscription_id, state, feed_seq LIMIT 1
       )), -1)
FROM outbox_subscriptions WHERE state = 0 OR (state <= 2 AND since_ms + hold_ms > (CAST(unixepoch('subsec') * 1000 AS INTEGER)));

-- lowestReader
SELECT COALESCE(MIN(feed_seq), -1) FROM outbox_cursors WHERE hold_ms > 0 AND seen_ms + hold_ms > (CAST(unixepoch('subsec') * 1000 AS INTEGER)) AND epoch = ?;

-- markFill
UPDATE outbox_counters SET value = ?, at_ms = (CAST(unixepoch('subsec') * 1000 AS INTEGER)) WHERE name = 'feed_fill';

-- moveCursor
UPDATE outbox_cursors SET epoch = ?, feed_seq = ?, seen_ms = (CAST(unixepoch('subsec') * 1000 AS INTEGER)), version = version + 1
WHERE name = ? AND epoch = ? AND feed_seq = ?;

-- moveFill
UPDATE outbox_counters SET value = ? WHERE name = 'feed_fill';

-- nextEpoch
UPDATE outbox_counters SET value = CASE WHEN value < (CAST(unixepoch('subsec') * 1000 AS INTEGER)) THEN (CAST(unixepoch('subsec') * 1000 AS INTEGER)) ELSE value + 1 END, at_ms = (CAST(unixepoch('subsec') * 1000 AS INTEGER))
WHERE name = 'feed_epoch';

-- nextWhole
SELECT COALESCE((SELECT f.feed_seq FROM outbox_feed f JOIN outbox_events e ON e.seq = f.seq
WHERE f.feed_seq > ? ORDER BY f.feed_seq LIMIT 1), ?);

-- notesInHand
SELECT in_hand FROM outbox_relays WHERE in_hand <> '';

-- oldDead
SELECT seq, feed_seq FROM outbox_events INDEXED BY outbox_events_due WHERE state = 2 AND due_ms < ? ORDER BY due_ms, seq LIMIT ?;

-- oldMessages
SELECT consumer, message_id FROM outbox_inbox INDEXED BY outbox_inbox_received WHERE received_ms < ? ORDER BY received_ms LIMIT ?;

-- oldPublished
SELECT seq, feed_seq FROM outbox_events INDEXED BY outbox_events_due WHERE state = 1 AND due_ms < ? ORDER BY due_ms, seq LIMIT ?;

-- oldestHeld
SELECT state, created_ms, due_ms, first_failed_ms, total_attempts - attempts,
       CASE WHEN claim_token > 0 OR last_error <> '' THEN 1 ELSE 0 END FROM outbox_events INDEXED BY outbox_events_pending WHERE state > 3 AND state < 5 ORDER BY state, seq LIMIT 1;

-- oldestNumber
SELECT COALESCE((SELECT feed_seq FROM outbox_feed ORDER BY feed_seq LIMIT 1), 0);

-- oldestPending
SELECT state, created_ms, due_ms, first_failed_ms, total_attempts - attempts,
       CASE WHEN claim_token > 0 OR last_error <> '' THEN 1 ELSE 0 END FROM outbox_events INDEXED BY outbox_events_pending
WHERE state <= 0 AND (claimed_by = '' OR first_failed_ms > 0) ORDER BY state, seq LIMIT 1;

-- oldestUnhandled
SELECT e.seq, e.topic, e.created_ms, COALESCE(d.handler, '') FROM (
  SELECT * FROM (SELECT seq, topic, created_ms FROM outbox_events INDEXED BY outbox_events_pending WHERE state <= 0 ORDER BY state, seq LIMIT ?) pending
  UNION ALL
  SELECT * FROM (SELECT seq, topic, created_ms FROM outbox_events INDEXED BY outbox_events_pending WHERE state > 3 AND state < 5 ORDER BY state, seq LIMIT ?) behind
  UNION ALL
  SELECT * FROM (SELECT seq, topic, created_ms FROM outbox_events INDEXED BY outbox_events_pending WHERE state > 4 AND state < 6 ORDER BY state, seq LIMIT ?) waiting
) e LEFT JOIN outbox_deliveries d ON d.seq = e.seq AND d.state IN (1, 2);

-- oldestWaiting
SELECT state, created_ms, due_ms, first_failed_ms, total_attempts - attempts,
       CASE WHEN claim_token > 0 OR last_error <> '' THEN 1 ELSE 0 END FROM outbox_events INDEXED BY outbox_events_pending WHERE state > 4 AND state < 6 ORDER BY state, seq LIMIT 1;

-- outstandingPage
SELECT seq FROM outbox_deliveries WHERE handler = ? AND state = 0 AND seq > ? ORDER BY seq LIMIT ?;

-- pausedPage
SELECT seq, topic FROM outbox_events INDEXED BY outbox_events_pending WHERE state = 6 AND seq > ? ORDER BY seq LIMIT ?;

-- publishedAgain
UPDATE outbox_events SET state = 1, due_ms = (CAST(unixepoch('subsec') * 1000 AS INTEGER)), settled_ms = (CAST(unixepoch('subsec') * 1000 AS INTEGER)), claimed_by = ''
WHERE seq IN (?, ?) AND state = 2;

-- publishedPage
SELECT seq, feed_seq FROM outbox_events INDEXED BY outbox_events_pending WHERE state > 0 AND state < 2 AND seq > ? ORDER BY state, seq LIMIT ?;

-- purgeBegins
SELECT (CAST(unixepoch('subsec') * 1000 AS INTEGER)), COALESCE((SELECT value FROM outbox_counters WHERE name = 'feed'), -1);

-- purgeFeed
DELETE FROM outbox_feed WHERE feed_seq <= ?;

-- purgeMessages
DELETE FROM outbox_inbox WHERE received_ms < ? AND consumer = ? AND message_id IN (?, ?);

-- purgePublished
DELETE FROM outbox_events WHERE seq IN (?, ?) AND state = 1;

-- putBack
UPDATE outbox_events SET state = 0 WHERE seq IN (?, ?) AND state = 6;

-- readClock
SELECT (CAST(unixepoch('subsec') * 1000 AS INTEGER));

-- readCounters
SELECT name, value, at_ms FROM outbox_counters
WHERE name IN ('drained', 'refused', 'resumed');

-- readCursor
SELECT epoch, feed_seq FROM outbox_cursors WHERE name = ?;

-- readCursors
SELECT name, epoch, feed_seq, hold_ms, seen_ms,
       CASE WHEN hold_ms > 0 AND seen_ms + hold_ms > (CAST(unixepoch('subsec') * 1000 AS INTEGER)) THEN 1 ELSE 0 END
FROM outbox_cursors ORDER BY name;

-- readFill
SELECT value, at_ms FROM outbox_counters WHERE name = 'feed_fill';

-- readHandlers
SELECT name, former_name, topics, since_ms, from_seq, retired_ms FROM outbox_handlers ORDER BY since_ms, name;

-- readLeases
SELECT l.name, l.owner, COALESCE(r.host, ''), COALESCE(r.process, 0), l.token, l.since_ms, l.until_ms
FROM outbox_leases l LEFT JOIN outbox_relays r ON r.id = l.owner
WHERE l.name NOT LIKE 'key/%' AND l.name <> 'order' ORDER BY l.name;

-- readPartitions
SELECT owner, name FROM outbox_leases WHERE name LIKE 'key/%' AND owner <> '' ORDER BY name;

-- readPauses
SELECT topic, since_ms FROM outbox_pauses ORDER BY topic;

-- readRelays
SELECT id, host, process, order_name, since_ms, seen_ms, until_ms, in_hand FROM outbox_relays
WHERE order_name <> 'crash' AND NOT (until_ms <= (CAST(unixepoch('subsec') * 1000 AS INTEGER)) OR until_ms > (CAST(unixepoch('subsec') * 1000 AS INTEGER)) + 2 * (until_ms - seen_ms)) ORDER BY since_ms, id;

-- recordedBy
SELECT DISTINCT handler FROM outbox_deliveries WHERE seq IN (?, ?);

-- requeueSeqs
UPDATE outbox_events
SET state = 0, attempts = 0, first_failed_ms = 0, settled_ms = 0, claimed_by = '', due_ms = (CAST(unixepoch('subsec') * 1000 AS INTEGER))
WHERE seq IN (?, ?) AND state = 2;

-- retireHandler
UPDATE outbox_handlers SET retired_ms = (CAST(unixepoch('subsec') * 1000 AS INTEGER)) WHERE name = ? AND retired_ms = 0;

-- retiredHandlers
SELECT name FROM outbox_handlers WHERE retired_ms > 0;

-- seqsOfIDs
SELECT seq FROM outbox_events WHERE id IN (?, ?) AND state = 2 ORDER BY seq;

-- setHandlerTopics
UPDATE outbox_handlers SET topics = ? WHERE name = ?;

-- setNumbers
UPDATE outbox_events SET feed_seq = (SELECT f.feed_seq FROM outbox_feed f WHERE f.seq = outbox_events.seq)
WHERE seq IN (?, ?) AND state = 1 AND feed_seq = 0;

-- stillPublished
SELECT seq FROM outbox_events WHERE seq IN (?, ?) AND state = 1;

-- touchCursor
UPDATE outbox_cursors SET seen_ms = (CAST(unixepoch('subsec') * 1000 AS INTEGER)), version = version + 1 WHERE name = ?;

-- wakeOutstanding
UPDATE outbox_events SET due_ms = CASE WHEN claimed_by = '' THEN (CAST(unixepoch('subsec') * 1000 AS INTEGER)) ELSE due_ms END
WHERE seq IN (?, ?) AND state IN (0, 5);

