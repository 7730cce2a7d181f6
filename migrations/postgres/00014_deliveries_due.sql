-- +goose Up
CREATE INDEX IF NOT EXISTS outbox_deliveries_due ON outbox_deliveries (handler, state, due_ms, seq);

-- +goose Down
DROP INDEX IF EXISTS outbox_deliveries_due;
