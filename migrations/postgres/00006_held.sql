-- What holds a key: nothing of the key with a higher seq may be handed over before the event seq is through.
-- +goose Up
CREATE TABLE IF NOT EXISTS outbox_held (
    seq          BIGINT NOT NULL PRIMARY KEY,
    event_key    TEXT COLLATE "C" NOT NULL,
    partition_no BIGINT NOT NULL,
    since_ms     BIGINT NOT NULL DEFAULT 0
);

-- +goose Down
DROP TABLE IF EXISTS outbox_held;
