-- What became of an event in one of its handlers. No row: nothing yet.
-- +goose Up
CREATE TABLE IF NOT EXISTS outbox_deliveries (
    seq        BIGINT NOT NULL,
    handler    TEXT NOT NULL,
    state      BIGINT NOT NULL DEFAULT 0,
    attempts   BIGINT NOT NULL DEFAULT 0,
    due_ms     BIGINT NOT NULL DEFAULT 0,
    since_ms   BIGINT NOT NULL DEFAULT 0,
    settled_ms BIGINT NOT NULL DEFAULT 0,
    last_error TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (seq, handler)
);

-- +goose Down
DROP TABLE IF EXISTS outbox_deliveries;
