-- What became of a published event at one subscription.
-- +goose Up
CREATE TABLE IF NOT EXISTS outbox_webhook_deliveries (
    subscription_id BIGINT NOT NULL,
    feed_seq        BIGINT NOT NULL,
    seq             BIGINT NOT NULL,
    state           BIGINT NOT NULL DEFAULT 0,
    due_ms          BIGINT NOT NULL DEFAULT 0,
    attempts        BIGINT NOT NULL DEFAULT 0,
    claimed_by      TEXT COLLATE "C" NOT NULL DEFAULT '',
    created_ms      BIGINT NOT NULL DEFAULT 0,
    settled_ms      BIGINT NOT NULL DEFAULT 0,
    last_status     BIGINT NOT NULL DEFAULT 0,
    last_ms         BIGINT NOT NULL DEFAULT 0,
    last_answer     TEXT COLLATE "C" NOT NULL DEFAULT '',
    last_error      TEXT COLLATE "C" NOT NULL DEFAULT '',
    PRIMARY KEY (subscription_id, feed_seq)
);

-- +goose Down
DROP TABLE IF EXISTS outbox_webhook_deliveries;
