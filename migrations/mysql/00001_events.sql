-- MySQL has no CREATE INDEX IF NOT EXISTS, and commits DDL by itself: the indexes stand inside the table, so that the
-- file can be run again after failing anywhere. Numbers 2 and 3 are the indexes on the other engines.
-- +goose NO TRANSACTION
-- +goose Up
CREATE TABLE IF NOT EXISTS outbox_events (
    seq             BIGINT NOT NULL AUTO_INCREMENT,
    id              VARBINARY(128) NOT NULL CHECK (id <> ''),
    topic           VARBINARY(255) NOT NULL CHECK (topic <> ''),
    event_key       VARBINARY(255) NOT NULL DEFAULT '',
    partition_no    BIGINT NOT NULL DEFAULT -1,
    headers         LONGBLOB NOT NULL DEFAULT (''),
    payload         LONGBLOB NOT NULL,
    state           BIGINT NOT NULL DEFAULT 0,
    created_ms      BIGINT NOT NULL DEFAULT (TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) DIV 1000),
    due_ms          BIGINT NOT NULL DEFAULT (TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) DIV 1000),
    attempts        BIGINT NOT NULL DEFAULT 0,
    total_attempts  BIGINT NOT NULL DEFAULT 0,
    first_failed_ms BIGINT NOT NULL DEFAULT 0,
    last_error      VARBINARY(2048) NOT NULL DEFAULT '',
    claimed_by      VARBINARY(128) NOT NULL DEFAULT '',
    claim_token     BIGINT NOT NULL DEFAULT 0,
    settled_ms      BIGINT NOT NULL DEFAULT 0,
    feed_seq        BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (seq),
    UNIQUE KEY outbox_events_id (id),
    KEY outbox_events_pending (state, seq, partition_no),
    KEY outbox_events_due (state, due_ms, seq)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 ROW_FORMAT = DYNAMIC;

-- +goose Down
DROP TABLE IF EXISTS outbox_events;
