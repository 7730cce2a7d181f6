-- +goose Up
CREATE TABLE IF NOT EXISTS outbox_leases (
    name     TEXT NOT NULL PRIMARY KEY,
    owner    TEXT NOT NULL DEFAULT '',
    token    BIGINT NOT NULL DEFAULT 0,
    since_ms BIGINT NOT NULL DEFAULT 0,
    until_ms BIGINT NOT NULL DEFAULT 0,
    lease_ms BIGINT NOT NULL DEFAULT 0,
    version  BIGINT NOT NULL DEFAULT 0
);

-- +goose Down
DROP TABLE IF EXISTS outbox_leases;
