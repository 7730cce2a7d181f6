-- What became of an event in one of its handlers. No row: nothing yet.
-- Number 14 is the index on the other engines.
-- +goose NO TRANSACTION
-- +goose Up
CREATE TABLE IF NOT EXISTS outbox_deliveries (
    seq        BIGINT NOT NULL,
    handler    VARBINARY(128) NOT NULL,
    state      BIGINT NOT NULL DEFAULT 0,
    attempts   BIGINT NOT NULL DEFAULT 0,
    due_ms     BIGINT NOT NULL DEFAULT 0,
    since_ms   BIGINT NOT NULL DEFAULT 0,
    settled_ms BIGINT NOT NULL DEFAULT 0,
    last_error VARBINARY(2048) NOT NULL DEFAULT '',
    PRIMARY KEY (seq, handler),
    KEY outbox_deliveries_due (handler, state, due_ms, seq)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 ROW_FORMAT = DYNAMIC;

-- +goose Down
DROP TABLE IF EXISTS outbox_deliveries;
