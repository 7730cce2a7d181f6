-- The handlers that events of this outbox have, of all releases that run.
-- +goose Up
CREATE TABLE IF NOT EXISTS outbox_handlers (
    name        TEXT COLLATE "C" NOT NULL,
    topics      BYTEA NOT NULL DEFAULT '',
    former_name TEXT COLLATE "C" NOT NULL DEFAULT '',
    from_seq    BIGINT NOT NULL DEFAULT -1,
    since_ms    BIGINT NOT NULL DEFAULT 0,
    replayed_to BIGINT NOT NULL DEFAULT 0,
    retired_ms  BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (name)
);

-- +goose Down
DROP TABLE IF EXISTS outbox_handlers;
