-- Numbers that outlive the relays that count them.
-- +goose Up
CREATE TABLE IF NOT EXISTS outbox_counters (
    name  TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    value BIGINT NOT NULL DEFAULT 0,
    at_ms BIGINT NOT NULL DEFAULT 0
);

-- +goose Down
DROP TABLE IF EXISTS outbox_counters;
