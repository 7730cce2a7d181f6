-- +goose Up
CREATE TABLE IF NOT EXISTS outbox_relays (
    id         TEXT NOT NULL PRIMARY KEY,
    host       TEXT NOT NULL DEFAULT '',
    process    BIGINT NOT NULL DEFAULT 0,
    order_name TEXT NOT NULL DEFAULT '',
    token      BIGINT NOT NULL DEFAULT 0,
    since_ms   BIGINT NOT NULL DEFAULT 0,
    seen_ms    BIGINT NOT NULL DEFAULT 0,
    until_ms   BIGINT NOT NULL DEFAULT 0,
    in_hand    TEXT NOT NULL DEFAULT '',
    version    BIGINT NOT NULL DEFAULT 0
);

-- +goose Down
DROP TABLE IF EXISTS outbox_relays;
