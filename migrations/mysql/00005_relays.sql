-- +goose NO TRANSACTION
-- +goose Up
CREATE TABLE IF NOT EXISTS outbox_relays (
    id         VARBINARY(128) NOT NULL,
    host       VARBINARY(255) NOT NULL DEFAULT '',
    process    BIGINT NOT NULL DEFAULT 0,
    order_name VARBINARY(16) NOT NULL DEFAULT '',
    token      BIGINT NOT NULL DEFAULT 0,
    since_ms   BIGINT NOT NULL DEFAULT 0,
    seen_ms    BIGINT NOT NULL DEFAULT 0,
    until_ms   BIGINT NOT NULL DEFAULT 0,
    in_hand    LONGBLOB NOT NULL DEFAULT (''),
    version    BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (id)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 ROW_FORMAT = DYNAMIC;

-- +goose Down
DROP TABLE IF EXISTS outbox_relays;
