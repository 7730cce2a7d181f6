-- What holds a key: nothing of the key with a higher seq may be handed over before the event seq is through.
-- Number 7 is the index on the other engines.
-- +goose NO TRANSACTION
-- +goose Up
CREATE TABLE IF NOT EXISTS outbox_held (
    seq          BIGINT NOT NULL,
    event_key    VARBINARY(255) NOT NULL,
    partition_no BIGINT NOT NULL,
    since_ms     BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (seq),
    KEY outbox_held_keys (event_key, seq)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 ROW_FORMAT = DYNAMIC;

-- +goose Down
DROP TABLE IF EXISTS outbox_held;
