-- What consumers have handled: a message id is there at most once a consumer, in the transaction of its effect.
-- +goose Up
CREATE TABLE IF NOT EXISTS outbox_inbox (
    consumer    TEXT COLLATE "C" NOT NULL,
    message_id  TEXT COLLATE "C" NOT NULL,
    received_ms BIGINT NOT NULL,
    version     BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (message_id, consumer)
);

-- +goose Down
DROP TABLE IF EXISTS outbox_inbox;
