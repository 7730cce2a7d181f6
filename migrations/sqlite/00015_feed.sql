-- The place of each published event in the feed.
-- +goose Up
CREATE TABLE IF NOT EXISTS outbox_feed (
    feed_seq     BIGINT NOT NULL PRIMARY KEY,
    seq          BIGINT NOT NULL UNIQUE,
    published_ms BIGINT NOT NULL
) WITHOUT ROWID;

-- +goose Down
DROP TABLE IF EXISTS outbox_feed;
