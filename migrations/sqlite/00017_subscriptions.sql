-- Who wants webhooks of which topics.
-- +goose Up
CREATE TABLE IF NOT EXISTS outbox_subscriptions (
    id          BIGINT NOT NULL,
    name        TEXT NOT NULL,
    url         TEXT NOT NULL DEFAULT '',
    topics      BLOB NOT NULL DEFAULT x'',
    in_order    BIGINT NOT NULL DEFAULT 0,
    headers     BLOB NOT NULL DEFAULT x'',
    secrets     BLOB NOT NULL DEFAULT x'',
    state       BIGINT NOT NULL DEFAULT 0,
    since_ms    BIGINT NOT NULL DEFAULT 0,
    reason      TEXT NOT NULL DEFAULT '',
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
    UNIQUE (name)
);

-- +goose Down
DROP TABLE IF EXISTS outbox_subscriptions;
