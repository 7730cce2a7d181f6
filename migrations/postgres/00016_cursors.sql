-- How far readers of the feed have come.
-- +goose Up
CREATE TABLE IF NOT EXISTS outbox_cursors (
    name     TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    epoch    BIGINT NOT NULL DEFAULT 0,
    feed_seq BIGINT NOT NULL DEFAULT 0,
    hold_ms  BIGINT NOT NULL DEFAULT 0,
    seen_ms  BIGINT NOT NULL DEFAULT 0,
    version  BIGINT NOT NULL DEFAULT 0
);

-- +goose Down
DROP TABLE IF EXISTS outbox_cursors;
