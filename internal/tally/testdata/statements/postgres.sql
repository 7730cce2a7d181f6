-- add
UPDATE outbox_counters SET value = value + $1, at_ms = ((EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT) WHERE name = $2;

-- insert
INSERT INTO outbox_counters (name) VALUES ($1) ON CONFLICT (name) DO NOTHING;

