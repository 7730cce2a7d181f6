-- How far readers of the feed have come.
-- +goose NO TRANSACTION
-- +goose Up
CREATE TABLE IF NOT EXISTS outbox_cursors (
    name     VARBINARY(128) NOT NULL,
    epoch    BIGINT NOT NULL DEFAULT 0,
    feed_seq BIGINT NOT NULL DEFAULT 0,
    hold_ms  BIGINT NOT NULL DEFAULT 0,
    seen_ms  BIGINT NOT NULL DEFAULT 0,
    version  BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (name)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 ROW_FORMAT = DYNAMIC;

-- +goose Down
DROP TABLE IF EXISTS outbox_cursors;
