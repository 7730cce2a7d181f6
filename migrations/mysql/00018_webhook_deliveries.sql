-- What became of a published event at one subscription.
-- Numbers 19 and 20 are the indexes on the other engines.
-- +goose NO TRANSACTION
-- +goose Up
CREATE TABLE IF NOT EXISTS outbox_webhook_deliveries (
    subscription_id BIGINT NOT NULL,
    feed_seq        BIGINT NOT NULL,
    seq             BIGINT NOT NULL,
    state           BIGINT NOT NULL DEFAULT 0,
    due_ms          BIGINT NOT NULL DEFAULT 0,
    attempts        BIGINT NOT NULL DEFAULT 0,
    claimed_by      VARBINARY(128) NOT NULL DEFAULT '',
    created_ms      BIGINT NOT NULL DEFAULT 0,
    settled_ms      BIGINT NOT NULL DEFAULT 0,
    last_status     BIGINT NOT NULL DEFAULT 0,
    last_ms         BIGINT NOT NULL DEFAULT 0,
    last_answer     VARBINARY(2048) NOT NULL DEFAULT '',
    last_error      VARBINARY(2048) NOT NULL DEFAULT '',
    PRIMARY KEY (subscription_id, feed_seq),
    KEY outbox_webhook_deliveries_due (subscription_id, state, due_ms, feed_seq),
    KEY outbox_webhook_deliveries_order (subscription_id, state, feed_seq)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 ROW_FORMAT = DYNAMIC;

-- +goose Down
DROP TABLE IF EXISTS outbox_webhook_deliveries;
