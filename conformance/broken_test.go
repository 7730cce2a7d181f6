package conformance_test

import (
	"context"
	"database/sql"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sqloutbox/sqloutbox/conformance"
	"github.com/sqloutbox/sqloutbox/dialect"
	"github.com/sqloutbox/sqloutbox/internal/conntx"
	"github.com/sqloutbox/sqloutbox/internal/engines"
)

// mutant is an engine, or what is sent to it, that is broken on purpose, in one way.
type mutant struct {
	name    string
	engines string // all of them, or those named
	rule    string // the case that catches it
	fault   fault
}

// A suite that passes everything proves nothing. Each of these is caught by the case that names the rule; the same case passes with
// what is whole.
var mutants = []mutant{
	{"what is below unseen", "postgres mysql mariadb", "an event that commits late is overtaken by none of its key, while a relay is busy, total", rewrite("DESC, seq DESC LIMIT 1", "DESC, seq DESC LIMIT 0")},
	{"what is below unseen", "postgres mysql mariadb", "an event that commits late is overtaken by none of its key, while a relay is busy, per key", rewrite("DESC, seq DESC LIMIT 1", "DESC, seq DESC LIMIT 0")},
	{"what is between unseen", "postgres mysql mariadb", "an event that commits late is overtaken by none of its key, while a relay is busy, total", rewrite("AND state + 0 = 0", "AND state + 0 = 9")},
	{"what is between unseen", "postgres mysql mariadb", "an event that commits late is overtaken by none of its key, while a relay is busy, per key", rewrite("AND state + 0 = 0", "AND state + 0 = 9")},
	{"no row locks", "postgres mysql mariadb", "a locked row is waited for", wrap(func(d dialect.Dialect) dialect.Dialect { return noLocks{d} })},
	{"locks that wait in place of skipping", "postgres mysql mariadb", "a row that another has locked is left out", wrap(func(d dialect.Dialect) dialect.Dialect { return noSkip{d} })},
	{"ranges in place of lists", "mysql mariadb", "what the host has inserted and not committed is waited for by no relay, total", wrap(func(d dialect.Dialect) dialect.Dialect { return keyRanges{d} })},
	{"ranges in place of lists", "mysql mariadb", "what the host has inserted and not committed is waited for by no relay, per key", wrap(func(d dialect.Dialect) dialect.Dialect { return keyRanges{d} })},
	{"ranges in place of lists", "mysql mariadb", "what the host has inserted and not committed is waited for by no relay, none", wrap(func(d dialect.Dialect) dialect.Dialect { return keyRanges{d} })},
	{"no lock at the beginning", "sqlite", "a transaction that has read may write", wrap(func(d dialect.Dialect) dialect.Dialect { return plainBegin{d, nil} })},
	{"a stricter isolation", "postgres mysql mariadb", "a transaction sees what was committed since it began", wrap(func(d dialect.Dialect) dialect.Dialect {
		return plainBegin{d, &sql.TxOptions{Isolation: sql.LevelRepeatableRead}}
	})},
	{"the process's clock", "", "the clock goes on by itself", clock("(1700000000000)")},
	{"the transaction's clock", "postgres", "the clock goes on inside a transaction", clock("((EXTRACT(EPOCH FROM now()) * 1000)::BIGINT)")},
	{"a clock in seconds", "sqlite", "the clock counts milliseconds since 1970", clock("(unixepoch())")},
	{"a local clock", "postgres", "the clock knows no time zone", clock("((EXTRACT(EPOCH FROM clock_timestamp() AT TIME ZONE current_setting('TimeZone')) * 1000)::BIGINT)")},
	{"a local clock", "mysql mariadb", "the clock knows no time zone", clock("(TIMESTAMPDIFF(MICROSECOND, '1970-01-01', NOW(6)) DIV 1000)")},
	{"an in-transaction check that always says yes", "mysql mariadb sqlite", "a transaction that ended unnoticed takes no event", wrap(func(d dialect.Dialect) dialect.Dialect { return alwaysIn{d} })},
	{"an in-transaction check that always says yes", "mysql mariadb", "a swallowed deadlock leaves no ghost", wrap(func(d dialect.Dialect) dialect.Dialect { return alwaysIn{d} })},
	{"aborted transactions taken for something else", "postgres", "a transaction that ended unnoticed takes no event", classify(dialect.Aborted, dialect.Other)},
	{"aborted transactions taken for something else", "postgres", "InTx refuses to commit what ended after Write", classify(dialect.Aborted, dialect.Other)},
	{"conflicts taken for something else", "sqlite", "what only another try can mend is a conflict", classify(dialect.Conflict, dialect.Other)},
	{"conflicts taken for something else", "sqlite", "a commit that collides is run again, and nothing is handed over twice, total", classify(dialect.Conflict, dialect.Other)},
	{"duplicates taken for something else", "", "an id that is taken is refused", classify(dialect.Duplicate, dialect.Other)},
	{"lost connections taken for something else", "", "a database that is away at the start is waited for, total", classify(dialect.Disconnected, dialect.Other)},
	{"duplicates not ignored", "", "a duplicate is left out where that is asked for, and the transaction stays usable", ignore("")},
	{"duplicates that overwrite", "postgres sqlite", "leaving duplicates out hides no other fault", ignore(" ON CONFLICT (id) DO UPDATE SET topic = excluded.topic")},
	{"all faults ignored", "sqlite", "leaving duplicates out hides no other fault", rewrite("INSERT INTO outbox_events", "INSERT OR IGNORE INTO outbox_events")},
	{"all faults ignored", "mysql mariadb", "leaving duplicates out hides no other fault", rewrite("INSERT INTO outbox_events", "INSERT IGNORE INTO outbox_events")},
	{"a taken number for a taken id", "postgres", "a number that is taken is not a taken id", classify(dialect.KeyTaken, dialect.Duplicate)},
	{"a taken number ignored", "postgres", "a number that is taken is not a taken id", ignore(" ON CONFLICT DO NOTHING")},
	{"handled messages not ignored", "", "a message that was handled leaves the transaction usable", countFirst("")},
	{"handled messages that count as the first", "postgres sqlite", "of all that handle a message at once one is the first", countFirst(" ON CONFLICT (message_id, consumer) DO UPDATE SET version = excluded.version + 1")},
	{"message ids without case", "sqlite", "messages that differ by case, accent or trailing space are different", migrate("message_id  TEXT NOT NULL", "message_id TEXT COLLATE NOCASE NOT NULL")},
	{"consumers without trailing spaces", "mysql mariadb", "messages that differ by case, accent or trailing space are different", migrate("consumer    VARBINARY(255)", "consumer VARCHAR(255) COLLATE utf8mb4_bin")},
	{"an in-transaction check that always says yes", "mysql mariadb sqlite", "a transaction that ended unnoticed notes no message", wrap(func(d dialect.Dialect) dialect.Dialect { return alwaysIn{d} })},
	{"a purge of young messages", "", "only messages of the age that is given are forgotten", rewrite("WHERE received_ms < ", "WHERE received_ms - 9000000 < ")},
	{"numbers that nobody looks at", "postgres", "what passes the start-up check numbers new events past all that are there", wrap(func(d dialect.Dialect) dialect.Dialect { return neverBehind{d} })},
	{"numbers of what is purged that nobody looks at", "", "after a copy of what was purged new events are numbered above all that is remembered", wrap(func(d dialect.Dialect) dialect.Dialect { return noFloor{d} })},
	{"a numbering that is called behind", "postgres", "writers at work are no numbering that is behind", rewrite("top.seq > s.last_value", "top.seq >= s.last_value")},
	{"ids without case", "sqlite", "ids that differ by case, accent or trailing space are different", migrate("id              TEXT NOT NULL UNIQUE", "id TEXT COLLATE NOCASE NOT NULL UNIQUE")},
	{"ids without trailing spaces", "mysql mariadb", "ids that differ by case, accent or trailing space are different", migrate("id              VARBINARY(128)", "id VARCHAR(128) COLLATE utf8mb4_bin")},
	{"topics without case", "sqlite", "topics that differ by case, accent or trailing space are different", migrate("topic           TEXT NOT NULL", "topic TEXT COLLATE NOCASE NOT NULL")},
	{"payloads that are cut short", "", "input within the limits is taken as it is", rewrite("headers, payload, created_ms", "headers, SUBSTR(payload, 1, 1000), created_ms")},
	{"topics without spaces", "sqlite", "input within the limits is taken as it is", rewrite("SELECT seq, id, topic, event_key, partition_no, headers,", "SELECT seq, id, TRIM(topic), event_key, partition_no, headers,")},
	{"payloads as text", "mysql mariadb", "bytes in are bytes out", migrate("payload         LONGBLOB NOT NULL", "payload LONGTEXT NOT NULL")},
	{"tokens not compared", "sqlite mysql mariadb", "a lost lease cannot settle", rewrites("AND token = ? AND version = ?", "AND (token = ? OR 1 = 1) AND (version = ? OR 1 = 1)", "WHERE id = ? AND (token", "WHERE (id = ? OR 1 = 1) AND (token")},
	{"tokens not compared", "postgres", "a lost lease cannot settle", rewrites("AND token = $3 AND version = $4", "AND (token = $3 OR 1 = 1) AND (version = $4 OR 1 = 1)", "WHERE id = $2 AND (token", "WHERE (id = $2 OR 1 = 1) AND (token")},
	{"claims not compared", "sqlite mysql mariadb", "a late claimer's outcome is refused", rewrite("AND claimed_by = ?", "AND (claimed_by = ? OR 1 = 1)")},
	{"an order from the end", "", "events are handed over in the order of insertion", rewrite("WHERE state <= 0 ORDER BY state, seq LIMIT", "WHERE state <= 0 ORDER BY state DESC, seq DESC LIMIT")},
	{"claims without order", "sqlite", "without order an older event comes first", rewrite("ORDER BY due_ms, seq LIMIT", "ORDER BY seq DESC LIMIT")},
	{"renewal after expiry", "sqlite mysql mariadb", "a lease that ran out cannot be renewed", rewrites("AND token = ? AND until_ms >", "AND token = ? AND 0 <")},
	{"leases by a process's clock that is an hour behind", "sqlite", "a second relay stands by", fault{
		wrap:       func(d dialect.Dialect) dialect.Dialect { return offClock{d, time.Hour} },
		statements: []string{" + 3600000) + ?", ") + ?"},
	}},
	{"nothing noted as in hand", "sqlite", "what is in hand is noted before the hand-over", rewrite("SET in_hand = ?", "SET in_hand = substr(?, 1, 0)")},
	{"something else noted as in hand", "sqlite", "what is in hand is noted before the hand-over", rewrite("SET in_hand = ?", `SET in_hand = CASE ? WHEN '' THEN '' ELSE '{"batch":"1001-1003"}' END`)},
	{"something else noted as in hand", "sqlite", "what is in hand is noted before the hand-over, per key", rewrite("SET in_hand = ?", `SET in_hand = CASE ? WHEN '' THEN '' ELSE '{"batch":"1001-1003"}' END`)},
	{"nothing noted as in hand", "sqlite", "an event that kills its relay is dead after exactly MaxAttempts, and only it is charged, total", rewrite("SET in_hand = ?", "SET in_hand = substr(?, 1, 0)")},
	{"a lease that is free for all", "sqlite", "a second relay stands by", rewrite("SELECT owner, token, until_ms, lease_ms", "SELECT owner, token, 0, lease_ms")},
	{"claims that are not noted", "sqlite", "a claimed event is not claimed again", rewrite("claimed_by = ?, due_ms =", "claimed_by = ?, due_ms = 0 *")},
	{"attempts not counted", "sqlite", "a failing event is dead after exactly MaxAttempts, total", rewrite("SET attempts = attempts + 1", "SET attempts = attempts + 0")},
	{"a requeue to the end", "sqlite", "a requeued event is published before anything newer that is pending", rewrite("SET state = 0, attempts = 0", "SET seq = seq + 1000, state = 0, attempts = 0")},
	{"a purge of dead letters", "sqlite", "dead letters are never purged unless that is asked for", rewrites("WHERE state = 1 AND due_ms <", "WHERE state IN (1, 2) AND due_ms <", ") AND state = 1", ")", "seq <= ? AND state = 1", "seq <= ?")},
	{"keys that nothing holds", "sqlite", "a failing event holds its key only", rewrite("FROM outbox_held WHERE event_key IN (", "FROM outbox_held WHERE 1 = 0 AND event_key IN (")},
	{"keys held by their last holder", "sqlite", "several events that fail hold their key until the first is through", rewrite("SELECT event_key, MIN(seq) FROM outbox_held", "SELECT event_key, MAX(seq) FROM outbox_held")},
	{"groups without order", "sqlite", "what stands behind a failing key hides no other key", rewrite("\nORDER BY due_ms, seq LIMIT", "\nORDER BY due_ms DESC, seq DESC LIMIT")},
	{"groups that are not let go", "sqlite", "with HoldKey a dead letter holds its key until it is discarded", rewrite("SET state = 0, due_ms = created_ms", "SET state = 4, due_ms = due_ms")},
	{"retries that never come", "sqlite", "a failed event comes again before what is behind it", rewrite("WHERE state = 5 AND due_ms <=", "WHERE state = 5 AND 0 > ")},
	{"keys from the end", "sqlite", "the events of a key come one at a time and in the order of insertion", rewrite("ORDER BY state, seq LIMIT", "ORDER BY state DESC, seq DESC LIMIT")},
	{"partitions out of range", "sqlite", "a row whose partition is out of range is found by a relay that runs", rewrite("(partition_no < -1 OR partition_no > 63)", "(partition_no < -1 AND partition_no > 63)")},
	{"dead letters that are not looked for", "sqlite", "with HoldKey a dead letter that was there before holds its key", rewrite("state > 1 AND state < 3 AND seq >", "state > 1 AND state < 2 AND seq >")},
	{"delays that are over and not counted", "sqlite", "stats count a delayed event from when it is due, though no relay lives", rewrite("WHERE state = 3 AND due_ms <= ?", "WHERE state = 9 AND due_ms <= ?")},
	{"ages from when an event was written", "sqlite", "stats count a delayed event from when it is due, though no relay lives", rewrite("SELECT state, created_ms, due_ms", "SELECT state, created_ms, created_ms")},
	{"ages from when an event was written", "sqlite", "stats count a requeued event from when it was put back", rewrite("SELECT state, created_ms, due_ms", "SELECT state, created_ms, created_ms")},
	{"pauses unheard of", "sqlite", "a paused topic holds its keys, and they go on in order when it is resumed", rewrite("SELECT topic FROM outbox_pauses", "SELECT topic FROM outbox_pauses WHERE 1 = 0")},
	{"holders that stay", "sqlite", "without HoldKey what a dead letter held flows", rewrite("DELETE FROM outbox_held WHERE", "DELETE FROM outbox_held WHERE 1 = 0 AND")},
	{"partitions for all", "sqlite", "a partition is not given away while an event of it is in hand", rewrite("AND (owner = '' OR owner NOT IN (", "AND (1 = 1 OR owner NOT IN (")},
	{"partitions for all", "sqlite", "relays share the partitions evenly, however many come and go", rewrite("AND (owner = '' OR owner NOT IN (", "AND (1 = 1 OR owner NOT IN (")},
	{"partitions that are never given away", "sqlite", "relays share the partitions evenly, however many come and go", rewrite("UPDATE outbox_leases SET owner = '', version", "UPDATE outbox_leases SET version")},
	{"partitions that stay a fallen relay's", "sqlite", "the partitions of a fallen relay are taken, and its late outcome is refused", rewrite("UPDATE outbox_leases SET owner = '', until_ms = 0", "UPDATE outbox_leases SET until_ms = 0")},
	{"tokens that stay", "sqlite", "a partition's token grows with every owner, and messages carry it", rewrite("token = token + 1", "token = token + 0")},
	{"partitions of nobody", "sqlite", "a partition whose owner is unknown is taken", rewrite("NOT IN (SELECT id FROM outbox_relays)", "NOT IN (SELECT owner FROM outbox_leases)")},
	{"rows of the fallen not compared", "sqlite", "the partitions of a fallen relay are taken, and its late outcome is refused", rewrites("AND token = ? AND version = ?", "AND (token = ? OR 1 = 1) AND (version = ? OR 1 = 1)", "WHERE id = ? AND (token", "WHERE (id = ? OR 1 = 1) AND (token")},
	{"other orders not looked for", "sqlite", "a relay of another order is refused while one lives, total to per_key", rewrite("WHERE order_name <> 'crash' AND order_name <>", "WHERE order_name = 'crash' AND order_name <>")},
	{"held keys that another order can't see", "sqlite", "a change of order loses nothing, and publishes each event once, per_key to total", rewrite("state > 3 AND state < 5", "state > 3 AND state < 4")},
	{"no record in a handler's transaction", "sqlite", "a crash after a handler's commit does not run it again, per key", rewrites("VALUES (?, ?, 5, (CAST(unixepoch('subsec') * 1000 AS INTEGER)))", "SELECT ?, ?, 5, 0 WHERE 1 = 0",
		"UPDATE outbox_deliveries SET state = 1, attempts = ?, last_error = '', due_ms = 0, settled_ms = (CAST(unixepoch('subsec') * 1000 AS INTEGER))\nWHERE seq = ? AND handler = ? AND state = 5",
		"UPDATE outbox_handlers SET name = name WHERE (? >= 0 OR ? >= 0) AND name = ?")},
	{"rejections that are tried again", "", "handlers are independent: one that is done is not run again because another failed, per key", rewrites("COALESCE(d.state, -1)", "CASE WHEN d.state = 2 THEN 3 ELSE COALESCE(d.state, -1) END",
		"state NOT IN (1, 2, 5)", "state NOT IN (1, 5)")},
	{"handlers that are done and run again", "", "handlers are independent: one that is done is not run again because another failed, per key", rewrites("COALESCE(d.state, -1)", "CASE WHEN d.state = 1 THEN 3 ELSE COALESCE(d.state, -1) END",
		"state NOT IN (1, 2, 5)", "state NOT IN (2, 5)")},
	{"a new handler that begins with what is old", "", "a handler begins with what is written after it was announced, or with the oldest event that is kept, per key", patient(rewrite("COALESCE(MAX(seq), 0) + 1", "1 + 0 * COALESCE(MAX(seq), 0)"))},
	{"numbers with a gap", "sqlite", "the feed is 1 to n in each key's order, whatever is rolled back, cut and retried, total", rewrite("SELECT name, value FROM outbox_counters WHERE name IN ('feed', '", "SELECT name, CASE WHEN name = 'feed' THEN value + 1 ELSE value END FROM outbox_counters WHERE name IN ('feed', '")},
	{"numbers for what is gone", "sqlite", "an event that is gone when it is settled burns no number, total", rewrite("SELECT seq, feed_seq FROM outbox_events WHERE seq >= ? AND seq <= ?", "SELECT value, 0 FROM (SELECT seq AS value, 0 AS state FROM outbox_events UNION SELECT MIN(seq) + 1, 0 FROM outbox_events) WHERE value >= ? AND value <= ?")},
	{"numbers that are lost", "sqlite", "what is handed over again keeps its number", rewrite("WHEN feed_seq > 0 THEN feed_seq", "WHEN feed_seq > 0 THEN 0")},
	{"a discard of what is in the feed", "sqlite", "a dead letter that is in the feed is published again when it is discarded", rewrite("SELECT seq, feed_seq FROM outbox_events INDEXED BY outbox_events_pending WHERE state = 2", "SELECT seq, 0 FROM outbox_events INDEXED BY outbox_events_pending WHERE state = 2")},
	{"a counter that is raised by the feed alone", "sqlite", "a counter of the feed from before gives no number that is remembered", rewrite("SELECT MAX(feed_seq) FROM outbox_cursors", "SELECT 0 FROM outbox_cursors")},
	{"a purge that waits for nobody", "sqlite", "purge waits for active readers of the feed, and for no others", rewrite("WHERE hold_ms > 0 AND seen_ms", "WHERE 1 = 0 AND seen_ms")},
	{"a purge that waits for everybody", "sqlite", "purge waits for active readers of the feed, and for no others", rewrite("WHERE hold_ms > 0 AND seen_ms + hold_ms >", "WHERE 0 <")},
	{"a purge by age alone", "sqlite", "purge deletes in the order of the feed", rewrite("WHERE feed_seq <= ? ORDER BY feed_seq LIMIT", "WHERE feed_seq <= ? ORDER BY published_ms, feed_seq LIMIT")},
	{"cursors that are set from anywhere", "sqlite", "a named cursor moves from where it is, never back, and only to the head", rewrite("WHERE name = ? AND epoch = ? AND feed_seq = ?", "WHERE name = ? AND (epoch = ? OR 1 = 1) AND (feed_seq = ? OR 1 = 1)")},
	{"epochs that stay", "sqlite", "a position of another epoch is refused, and numbers go on", rewrite("SET value = CASE WHEN value <", "SET value = value + 0 * CASE WHEN value <")},
	{"a back-fill that forgets where it is", "sqlite", "a back-fill that was cut off goes on, and numbers each event once", rewrites("AND state = 1 AND feed_seq = 0 ORDER BY seq", "AND state = 1 ORDER BY seq",
		"SELECT seq, feed_seq FROM outbox_events INDEXED BY outbox_events_pending WHERE state > 0", "SELECT seq, 0 FROM outbox_events INDEXED BY outbox_events_pending WHERE state > 0")},
	{"subscriptions that the fan-out misses", "sqlite", "each subscription has one delivery of each event it wants, whatever is cut and retried, total", patient(rewrite("WHERE state <= 1 ORDER BY id", "WHERE state <= 1 ORDER BY id LIMIT 2"))},
	{"paused subscriptions that the fan-out misses", "sqlite", "a paused subscription keeps what is published, up to its bound", rewrite("WHERE state <= 1 ORDER BY id", "WHERE state <= 0 ORDER BY id")},
	{"more kept than there is room for", "sqlite", "a paused subscription keeps what is published, up to its bound", rewrite("SET kept = kept + ?", "SET kept = kept + 0 * ?")},
	{"deliveries that are doubled", "sqlite", "what is handed over again is not delivered again", rewrites("SELECT seq, feed_seq FROM outbox_events WHERE seq", "SELECT seq, 0 FROM outbox_events WHERE seq", "INSERT INTO outbox_feed ", "INSERT OR REPLACE INTO outbox_feed ")},
	{"missed stretches without an end", "sqlite", "what was missed is refilled: all of it, and nothing that was delivered", rewrite("SELECT feed_seq, seq, attempts FROM outbox_webhook_deliveries", "SELECT feed_seq, 1 << 40, attempts FROM outbox_webhook_deliveries")},
	{"a refill that lets purge in", "postgres mysql mariadb", "a purge beside a refill takes nothing of what was missed unsaid", rewrite("WHERE name = 'feed_epoch' FOR UPDATE", "WHERE name = 'feed_epoch'")},
	{"what is missed and forgotten", "sqlite", "what a disabled subscription misses after a refill is not forgotten", rewrite("missed_from = CASE WHEN state = 2 THEN ? ELSE 0 END", "missed_from = CASE WHEN state = 9 THEN ? ELSE 0 END")},
	{"bounds that stay", "sqlite", "how much a pause keeps is what the last update says", rewrite("kept_max = ?, hold_ms = ?", "kept_max = kept_max + 0 * ?, hold_ms = ?")},
	{"a delivery that every worker claims", "sqlite", "of several workers one sends each delivery", rewrite("outbox_webhook_deliveries SET claimed_by = ?, due_ms = (CAST(unixepoch('subsec') * 1000 AS INTEGER)) + ?", "outbox_webhook_deliveries SET claimed_by = ?, due_ms = (CAST(unixepoch('subsec') * 1000 AS INTEGER)) + 0 * ?")},
	{"claims of deliveries not compared", "sqlite", "an outcome that comes after its claim was taken changes nothing", rewrite("AND feed_seq = ? AND claimed_by = ?", "AND feed_seq = ? AND (claimed_by = ? OR 1 = 1)")},
	{"claims of deliveries that never lapse", "sqlite", "a killed worker's claim is taken when its lease is over", rewrite("outbox_webhook_deliveries SET claimed_by = ?, due_ms = (CAST(unixepoch('subsec') * 1000 AS INTEGER)) + ?", "outbox_webhook_deliveries SET claimed_by = ?, due_ms = (CAST(unixepoch('subsec') * 1000 AS INTEGER)) + 3600000 + ?")},
	{"claims that are not given back", "sqlite", "a worker whose commit was not heard of records each delivery once", rewrite("WHERE subscription_id = ? AND state = 0 AND claimed_by = ?", "WHERE subscription_id = ? AND state = 9 AND claimed_by = ?")},
	{"deliveries from the end", "sqlite", "an ordered subscription gets one after the other, whoever works", rewrite("AND state <= 0 ORDER BY state, feed_seq LIMIT", "AND state <= 0 ORDER BY state DESC, feed_seq DESC LIMIT")},
	{"deliveries past one that waits", "sqlite", "an ordered subscription gets one after the other, whoever works", rewrites("AND state <= 0 ORDER BY state, feed_seq LIMIT", "AND state <= 0 AND due_ms <= (CAST(unixepoch('subsec') * 1000 AS INTEGER)) ORDER BY state, feed_seq LIMIT", "AND state <= 0\n          ORDER BY subscription_id, state, feed_seq LIMIT 1", "AND state <= 0 AND due_ms <= (CAST(unixepoch('subsec') * 1000 AS INTEGER))\n          ORDER BY subscription_id, state, feed_seq LIMIT 1")},
	{"ids of subscriptions that are given again", "sqlite", "an id of a subscription is never given again", rewrite("SET value = value + 1, at_ms = (CAST(unixepoch('subsec') * 1000 AS INTEGER)) WHERE name = 'subscription_id'", "SET value = 1 WHERE name = 'subscription_id'")},
	{"sweeps by what they have listed", "sqlite", "a sweep leaves alone what a subscription is owed that was resumed meanwhile", rewrite("SELECT state, since_ms, hold_ms, ", "SELECT 1, since_ms, 0 * hold_ms, 1 + ")},
	{"redeliveries that are sent before all are marked", "sqlite", "an ordered subscription gets what is redelivered in the order of the feed, before what is newer", rewrites("SET claimed_by = ?, due_ms = (CAST(unixepoch('subsec') * 1000 AS INTEGER)) + ?\nWHERE", "SET claimed_by = ?, due_ms = 0 * ?\nWHERE", "SET due_ms = (CAST(unixepoch('subsec') * 1000 AS INTEGER)) + ?\nWHERE subscription_id = ? AND feed_seq = ? AND state = 0 AND claimed_by = ?", "SET due_ms = 0 * ?\nWHERE subscription_id = ? AND feed_seq = ? AND state = 0 AND claimed_by = ?")},
	{"refills that are sent before all are made", "sqlite", "an ordered subscription gets what is refilled in the order of the feed, before what is newer", rewrites("SET claimed_by = ?, due_ms = (CAST(unixepoch('subsec') * 1000 AS INTEGER)) + ?\nWHERE", "SET claimed_by = ?, due_ms = 0 * ?\nWHERE", "SET due_ms = (CAST(unixepoch('subsec') * 1000 AS INTEGER)) + ?\nWHERE subscription_id = ? AND feed_seq = ? AND state = 0 AND claimed_by = ?", "SET due_ms = 0 * ?\nWHERE subscription_id = ? AND feed_seq = ? AND state = 0 AND claimed_by = ?")},
	{"a purge of what a subscription is owed", "sqlite", "purge waits for what a subscription is owed, and for nothing dead", rewrite("WHERE state = 0 OR (state <= 2 AND since_ms", "WHERE state = 9 OR (state >= 9 AND since_ms")},
	{"a purge that waits for what is dead", "sqlite", "purge waits for what a subscription is owed, and for nothing dead", rewrite("SELECT feed_seq FROM outbox_webhook_deliveries INDEXED BY outbox_webhook_deliveries_order WHERE subscription_id = id AND state <= 0", "SELECT feed_seq FROM outbox_webhook_deliveries INDEXED BY outbox_webhook_deliveries_order WHERE subscription_id = id AND state <> 1")},
	{"what was left, and everybody claims", "sqlite", "of several processes that have a handler one runs what was left for it", rewrite("SET attempts = ?, settled_ms = ?, due_ms = (CAST(unixepoch('subsec') * 1000 AS INTEGER)) + ?\n", "SET attempts = ?, settled_ms = ?, due_ms = (CAST(unixepoch('subsec') * 1000 AS INTEGER)) + 0 * ?\n")},
	{"claims of what was left not compared", "sqlite", "what comes of a call after its claim was taken changes nothing", rewrite("AND handler = ? AND state = 0 AND settled_ms = ?", "AND handler = ? AND state = 0 AND (settled_ms = ? OR 1 = 1)")},
	{"topics that are retired and forgotten", "sqlite", "a topic that is retired stays so when an older release starts again, and what was left of it is not run", rewrite("UPDATE outbox_handlers SET topics = ?", `UPDATE outbox_handlers SET topics = CAST(replace(CAST(? AS TEXT), ',{"topic":"more.*","from":0,"retired":true}', '') AS BLOB)`)},
	{"topics that are not retired", "sqlite", "a topic that is retired stays so when an older release starts again, and what was left of it is not run", rewrite("UPDATE outbox_handlers SET topics = ?", `UPDATE outbox_handlers SET topics = CAST(replace(CAST(? AS TEXT), ',"retired":true', '') AS BLOB)`)},
	{"dead letters that are served", "sqlite", "what was left of a dead letter waits for a requeue, and a key's goes in order", rewrites("COALESCE(e.event_key, ''), COALESCE(e.state, 1)", "COALESCE(e.event_key, ''), CASE WHEN e.state = 2 THEN 0 ELSE COALESCE(e.state, 1) END", "WHERE seq = ? AND state NOT IN (1, 2)", "WHERE seq = ? AND state <> 1")},
	{"pauses unheard of", "sqlite", "what was left of a paused topic waits until it is resumed", rewrite("SELECT topic FROM outbox_pauses", "SELECT topic FROM outbox_pauses WHERE 1 = 0")},
	{"all columns, whichever there are", "", "columns that a later release adds are nothing to a pool in use and a relay that runs, per key", rewrite("SELECT topic, since_ms FROM outbox_pauses", "SELECT * FROM outbox_pauses")},
	{"a fault in the tables", "sqlite", "with retention a published event is kept, and not handed over again, total", rewrite("due_ms = (CAST(unixepoch('subsec') * 1000 AS INTEGER)), settled_ms", "due_ms = 5, settled_ms")},
}

func TestBrokenOnPurposeIsCaughtByTheCaseThatNamesTheRule(t *testing.T) {
	cases := map[string]conformance.Case{}
	for _, c := range conformance.Cases() {
		cases[c.Name] = c
	}
	t.Parallel()
	var rules []string
	broken := map[string][]mutant{}
	for _, m := range mutants {
		if broken[m.rule] == nil {
			rules = append(rules, m.rule)
		}
		broken[m.rule] = append(broken[m.rule], m)
	}
	engines.EachAtOnce(t, func(t *testing.T, e *engines.Engine) {
		for _, rule := range rules {
			here := slices.DeleteFunc(slices.Clone(broken[rule]), func(m mutant) bool { return m.engines != "" && !contains(m.engines, e.Name) })
			if len(here) == 0 {
				continue
			}
			t.Run(rule, func(t *testing.T) {
				t.Parallel()
				c, ok := cases[rule]
				if !ok {
					t.Fatal("there is no such case")
				}
				whole := &trial{engine: e}
				whole.try(t, c, harness(e, 0).Patience)
				if len(whole.failures) > 0 {
					t.Errorf("fails on what is whole:\n%s", strings.Join(whole.failures, "\n"))
				}
				for _, m := range here {
					t.Run(m.name, func(t *testing.T) { mustBeCaught(t, c, &trial{fault: m.fault, engine: e, whole: whole}) })
				}
			})
		}
	})
}

// mustBeCaught breaks a case. Some faults show only as something that does not happen, as on a machine that is slow: what
// looks like that is tried again, with ten times the time that all of the case takes where it is whole.
func mustBeCaught(t *testing.T, c conformance.Case, x *trial) {
	t.Helper()
	if x.patient {
		x.try(t, c, time.Minute)
	} else if x.try(t, c, 4*time.Second); x.slow() {
		x.try(t, c, max(10*time.Second, 10*x.whole.took))
	}
	for range 2 { // some show only where a relay is quick: it looks from the beginning each second
		if len(x.failures) == 0 && x.broken == nil {
			x.try(t, c, 4*time.Second)
		}
	}
	for _, f := range x.failures {
		t.Logf("caught: %.300s", f)
	}
	switch {
	case x.broken != nil:
		t.Errorf("it is no fault, but what the engine does not understand: %v", x.broken)
	case len(x.failures) == 0:
		t.Error("was not caught")
	case x.patient && x.slow():
		t.Error("was not caught: it is slow")
	}
	if unfound := x.unfound(); len(unfound) > 0 {
		t.Errorf("there is nothing to break: no statement has %q", unfound)
	}
}

func contains(list, name string) bool {
	for _, n := range strings.Fields(list) {
		if n == name {
			return true
		}
	}
	return false
}

type noLocks struct{ dialect.Dialect }

func (noLocks) Lock() string     { return "" }
func (noLocks) LockSkip() string { return "" }

type noSkip struct{ dialect.Dialect }

func (d noSkip) LockSkip() string { return d.Lock() }

type keyRanges struct{ dialect.Dialect }

func (keyRanges) ChangesRangesAlone() bool { return true }

type plainBegin struct {
	dialect.Dialect
	opts *sql.TxOptions
}

func (d plainBegin) Begin(ctx context.Context, db *sql.DB) (dialect.Tx, error) {
	if d.opts != nil {
		return db.BeginTx(ctx, d.opts)
	}
	return conntx.Begin(ctx, db, d.Classify, "BEGIN")
}

type fixedClock struct {
	dialect.Dialect
	text string
}

func (d fixedClock) Clock() string { return d.text }

func clock(text string) fault {
	return wrap(func(d dialect.Dialect) dialect.Dialect { return fixedClock{d, text} })
}

type alwaysIn struct{ dialect.Dialect }

func (alwaysIn) InTransaction(context.Context, dialect.Execer) (bool, error) { return true, nil }

type misread struct {
	dialect.Dialect
	from, to dialect.Class
}

func (d misread) Classify(err error) dialect.Class {
	if c := d.Dialect.Classify(err); c != d.from {
		return c
	}
	return d.to
}

func classify(from, to dialect.Class) fault {
	return wrap(func(d dialect.Dialect) dialect.Dialect { return misread{d, from, to} })
}

type neverBehind struct{ dialect.Dialect }

func (neverBehind) SeqBehind(context.Context, *sql.DB, string) (string, error) { return "", nil }

type noFloor struct{ dialect.Dialect }

func (noFloor) SeqBelow(context.Context, *sql.DB, string, int64) (string, error) { return "", nil }

type ignoring struct {
	dialect.Dialect
	clause string
}

func (d ignoring) IgnoreDuplicate(column string) string {
	if column != "id" {
		return d.Dialect.IgnoreDuplicate(column)
	}
	return d.clause
}

func ignore(clause string) fault {
	return wrap(func(d dialect.Dialect) dialect.Dialect { return ignoring{d, clause} })
}

type counting struct {
	dialect.Dialect
	clause string
}

func (d counting) CountFirst(string, string) string { return d.clause }

func countFirst(clause string) fault {
	return wrap(func(d dialect.Dialect) dialect.Dialect { return counting{d, clause} })
}
