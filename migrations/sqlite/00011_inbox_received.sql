-- +goose Up
CREATE INDEX IF NOT EXISTS outbox_inbox_received ON outbox_inbox (received_ms);

-- +goose Down
DROP INDEX IF EXISTS outbox_inbox_received;
