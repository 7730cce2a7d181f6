package contest

// oagudoSchema is the schema that its README gives; on MySQL and MariaDB with a column that holds more than 64 kB.
var oagudoSchema = map[string][]string{
	"postgres": {`CREATE TABLE IF NOT EXISTS outbox (
    id UUID PRIMARY KEY,
    created_at TIMESTAMP WITH TIME ZONE NOT NULL,
    scheduled_at TIMESTAMP WITH TIME ZONE NOT NULL,
    metadata BYTEA,
    payload BYTEA NOT NULL,
    times_attempted INTEGER NOT NULL
)`,
		`CREATE INDEX IF NOT EXISTS idx_outbox_created_at ON outbox (created_at)`,
		`CREATE INDEX IF NOT EXISTS idx_outbox_scheduled_at ON outbox (scheduled_at)`,
	},
	"mysql":   oagudoMySQL("BINARY(16)"),
	"mariadb": oagudoMySQL("UUID"),
	"sqlite": {`CREATE TABLE IF NOT EXISTS outbox (
    id TEXT PRIMARY KEY,
    created_at DATETIME NOT NULL,
    scheduled_at DATETIME NOT NULL,
    metadata BLOB,
    payload BLOB NOT NULL,
    times_attempted INTEGER NOT NULL
)`,
		`CREATE INDEX IF NOT EXISTS idx_outbox_created_at ON outbox (created_at)`,
		`CREATE INDEX IF NOT EXISTS idx_outbox_scheduled_at ON outbox (scheduled_at)`,
	},
}

// oagudoMySQL has the indexes inside, so that it can be run again.
func oagudoMySQL(id string) []string {
	return []string{`CREATE TABLE IF NOT EXISTS outbox (
    id ` + id + ` PRIMARY KEY,
    created_at TIMESTAMP(3) NOT NULL,
    scheduled_at TIMESTAMP(3) NOT NULL,
    metadata BLOB,
    payload LONGBLOB NOT NULL,
    times_attempted INT NOT NULL,
    INDEX idx_outbox_created_at (created_at),
    INDEX idx_outbox_scheduled_at (scheduled_at)
)`}
}
