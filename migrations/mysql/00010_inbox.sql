-- What consumers have handled: a message id is there at most once a consumer, in the transaction of its effect.
-- Number 11 is the index on the other engines.
-- +goose NO TRANSACTION
-- +goose Up
CREATE TABLE IF NOT EXISTS outbox_inbox (
    consumer    VARBINARY(255) NOT NULL,
    message_id  VARBINARY(255) NOT NULL,
    received_ms BIGINT NOT NULL,
    version     BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (message_id, consumer),
    KEY outbox_inbox_received (received_ms)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 ROW_FORMAT = DYNAMIC;

-- +goose Down
DROP TABLE IF EXISTS outbox_inbox;
