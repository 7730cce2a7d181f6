-- The handlers that events of this outbox have, of all releases that run.
-- +goose NO TRANSACTION
-- +goose Up
CREATE TABLE IF NOT EXISTS outbox_handlers (
    name        VARBINARY(128) NOT NULL,
    topics      LONGBLOB NOT NULL DEFAULT (''),
    former_name VARBINARY(128) NOT NULL DEFAULT '',
    from_seq    BIGINT NOT NULL DEFAULT -1,
    since_ms    BIGINT NOT NULL DEFAULT 0,
    replayed_to BIGINT NOT NULL DEFAULT 0,
    retired_ms  BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (name)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 ROW_FORMAT = DYNAMIC;

-- +goose Down
DROP TABLE IF EXISTS outbox_handlers;
