-- Who wants webhooks of which topics.
-- +goose NO TRANSACTION
-- +goose Up
CREATE TABLE IF NOT EXISTS outbox_subscriptions (
    id          BIGINT NOT NULL,
    name        VARBINARY(128) NOT NULL,
    url         VARBINARY(2048) NOT NULL DEFAULT '',
    topics      BLOB NOT NULL DEFAULT (''),
    in_order    BIGINT NOT NULL DEFAULT 0,
    headers     BLOB NOT NULL DEFAULT (''),
    secrets     BLOB NOT NULL DEFAULT (''),
    state       BIGINT NOT NULL DEFAULT 0,
    since_ms    BIGINT NOT NULL DEFAULT 0,
    reason      VARBINARY(2048) NOT NULL DEFAULT '',
    created_ms  BIGINT NOT NULL DEFAULT 0,
    rest_ms     BIGINT NOT NULL DEFAULT 0,
    failing_ms  BIGINT NOT NULL DEFAULT 0,
    failures    BIGINT NOT NULL DEFAULT 0,
    kept        BIGINT NOT NULL DEFAULT 0,
    kept_max    BIGINT NOT NULL DEFAULT 0,
    hold_ms     BIGINT NOT NULL DEFAULT 0,
    missed      BIGINT NOT NULL DEFAULT 0,
    missed_from BIGINT NOT NULL DEFAULT 0,
    version     BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (id),
    UNIQUE KEY outbox_subscriptions_name (name)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 ROW_FORMAT = DYNAMIC;

-- +goose Down
DROP TABLE IF EXISTS outbox_subscriptions;
