-- add
UPDATE outbox_counters SET value = value + ?, at_ms = (TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) DIV 1000) WHERE name = ?;

-- insert
INSERT INTO outbox_counters (name) VALUES (?) ON DUPLICATE KEY UPDATE name = name;

