-- Topics that are not handed on for now; '*' stands for all of them.
-- +goose Up
CREATE TABLE IF NOT EXISTS outbox_pauses (
    topic    TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    since_ms BIGINT NOT NULL DEFAULT 0
);

-- +goose Down
DROP TABLE IF EXISTS outbox_pauses;
