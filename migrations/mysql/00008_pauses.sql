-- Topics that are not handed on for now; '*' stands for all of them.
-- +goose NO TRANSACTION
-- +goose Up
CREATE TABLE IF NOT EXISTS outbox_pauses (
    topic    VARBINARY(255) NOT NULL,
    since_ms BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (topic)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 ROW_FORMAT = DYNAMIC;

-- +goose Down
DROP TABLE IF EXISTS outbox_pauses;
