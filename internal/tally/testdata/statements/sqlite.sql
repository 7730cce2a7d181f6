-- add
UPDATE outbox_counters SET value = value + ?, at_ms = (CAST(unixepoch('subsec') * 1000 AS INTEGER)) WHERE name = ?;

-- insert
INSERT INTO outbox_counters (name) VALUES (?) ON CONFLICT (name) DO NOTHING;

