-- +goose Up
CREATE INDEX IF NOT EXISTS outbox_events_due ON outbox_events (state, due_ms, seq);

-- +goose Down
DROP INDEX IF EXISTS outbox_events_due;
