-- The handlers that events of this outbox have, of all releases that run.
-- +goose Up
CREATE TABLE IF NOT EXISTS outbox_handlers (
    name        TEXT NOT NULL,
    topics      BLOB NOT NULL DEFAULT x'',
    former_name TEXT NOT NULL DEFAULT '',
    from_seq    BIGINT NOT NULL DEFAULT -1,
    since_ms    BIGINT NOT NULL DEFAULT 0,
    replayed_to BIGINT NOT NULL DEFAULT 0,
    retired_ms  BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (name)
);

-- +goose Down
DROP TABLE IF EXISTS outbox_handlers;
