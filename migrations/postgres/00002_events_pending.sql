-- +goose Up
CREATE INDEX IF NOT EXISTS outbox_events_pending ON outbox_events (state, seq, partition_no);

-- +goose Down
DROP INDEX IF EXISTS outbox_events_pending;
