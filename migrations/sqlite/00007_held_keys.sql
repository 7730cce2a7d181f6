-- +goose Up
CREATE INDEX IF NOT EXISTS outbox_held_keys ON outbox_held (event_key, seq);

-- +goose Down
DROP INDEX IF EXISTS outbox_held_keys;
