-- +goose Up
CREATE TABLE IF NOT EXISTS outbox_events (
    seq             INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL,
    id              TEXT NOT NULL UNIQUE CHECK (typeof(id) = 'text' AND length(CAST(id AS BLOB)) BETWEEN 1 AND 128),
    topic           TEXT NOT NULL CHECK (typeof(topic) = 'text' AND length(CAST(topic AS BLOB)) BETWEEN 1 AND 255),
    event_key       TEXT NOT NULL DEFAULT '' CHECK (typeof(event_key) = 'text' AND length(CAST(event_key AS BLOB)) <= 255),
    partition_no    BIGINT NOT NULL DEFAULT -1,
    headers         BLOB NOT NULL DEFAULT x'',
    payload         BLOB NOT NULL,
    state           BIGINT NOT NULL DEFAULT 0,
    created_ms      BIGINT NOT NULL DEFAULT (CAST(unixepoch('subsec') * 1000 AS INTEGER)) CHECK (typeof(created_ms) = 'integer'),
    due_ms          BIGINT NOT NULL DEFAULT (CAST(unixepoch('subsec') * 1000 AS INTEGER)) CHECK (typeof(due_ms) = 'integer'),
    attempts        BIGINT NOT NULL DEFAULT 0,
    total_attempts  BIGINT NOT NULL DEFAULT 0,
    first_failed_ms BIGINT NOT NULL DEFAULT 0,
    last_error      TEXT NOT NULL DEFAULT '',
    claimed_by      TEXT NOT NULL DEFAULT '',
    claim_token     BIGINT NOT NULL DEFAULT 0,
    settled_ms      BIGINT NOT NULL DEFAULT 0,
    feed_seq        BIGINT NOT NULL DEFAULT 0
);

-- +goose Down
DROP TABLE IF EXISTS outbox_events;
