-- +goose Up
CREATE INDEX IF NOT EXISTS outbox_webhook_deliveries_order ON outbox_webhook_deliveries (subscription_id, state, feed_seq);

-- +goose Down
DROP INDEX IF EXISTS outbox_webhook_deliveries_order;
