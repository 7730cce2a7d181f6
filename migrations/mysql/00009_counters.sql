-- Numbers that outlive the relays that count them.
-- +goose NO TRANSACTION
-- +goose Up
CREATE TABLE IF NOT EXISTS outbox_counters (
    name  VARBINARY(255) NOT NULL,
    value BIGINT NOT NULL DEFAULT 0,
    at_ms BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (name)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 ROW_FORMAT = DYNAMIC;

-- +goose Down
DROP TABLE IF EXISTS outbox_counters;
