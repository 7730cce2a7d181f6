-- The place of each published event in the feed.
-- +goose NO TRANSACTION
-- +goose Up
CREATE TABLE IF NOT EXISTS outbox_feed (
    feed_seq     BIGINT NOT NULL,
    seq          BIGINT NOT NULL,
    published_ms BIGINT NOT NULL,
    PRIMARY KEY (feed_seq),
    UNIQUE KEY outbox_feed_event (seq)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 ROW_FORMAT = DYNAMIC;

-- +goose Down
DROP TABLE IF EXISTS outbox_feed;
