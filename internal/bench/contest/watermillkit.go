package contest

import (
	"time"

	"github.com/ThreeDotsLabs/watermill"
	wsql "github.com/ThreeDotsLabs/watermill-sql/v4/pkg/sql"
)

// watermillKit is what watermill-sql needs to know of an engine.
type watermillKit struct {
	schema  wsql.SchemaAdapter
	offsets wsql.OffsetsAdapter
	left    string   // counts what is not acknowledged
	tables  []string // with rows
}

// kitFor has payloads as bytes, which favours it: its default is JSON. Batch 0 is its default.
func kitFor(engine string, queue bool, batch int) watermillKit {
	bytea := func(string) string { return "BYTEA" }
	blob := func(string) string { return "LONGBLOB" }
	switch {
	case engine == "postgres" && queue:
		return watermillKit{
			schema:  wsql.PostgreSQLQueueSchema{SubscribeBatchSize: batch, GeneratePayloadType: bytea},
			offsets: wsql.PostgreSQLQueueOffsetsAdapter{DeleteOnAck: true},
			left:    `SELECT COUNT(*) FROM watermill_forward`,
			tables:  []string{"watermill_forward"},
		}
	case engine == "postgres":
		return watermillKit{
			schema:  wsql.DefaultPostgreSQLSchema{SubscribeBatchSize: batch, GeneratePayloadType: bytea},
			offsets: wsql.DefaultPostgreSQLOffsetsAdapter{},
			left: `SELECT COUNT(*) FROM watermill_forward
WHERE "offset" > COALESCE((SELECT MAX(offset_acked) FROM watermill_offsets_forward), 0)`,
			tables: []string{"watermill_forward", "watermill_offsets_forward"},
		}
	case queue:
		return watermillKit{
			schema:  wsql.MySQLQueueSchema{SubscribeBatchSize: batch, GeneratePayloadType: blob},
			offsets: wsql.MySQLQueueOffsetsAdapter{DeleteOnAck: true},
			left:    "SELECT COUNT(*) FROM watermill_forward",
			tables:  []string{"watermill_forward"},
		}
	}
	return watermillKit{
		schema:  wsql.DefaultMySQLSchema{SubscribeBatchSize: batch, GeneratePayloadType: blob},
		offsets: wsql.DefaultMySQLOffsetsAdapter{},
		left: "SELECT COUNT(*) FROM watermill_forward " +
			"WHERE `offset` > COALESCE((SELECT MAX(offset_acked) FROM watermill_offsets_forward), 0)",
		tables: []string{"watermill_forward", "watermill_offsets_forward"},
	}
}

func (s *watermillSystem) subscriber(t Tuning) (*wsql.Subscriber, error) {
	kit := kitFor(s.Engine, s.queue, t.Batch)
	config := wsql.SubscriberConfig{
		SchemaAdapter: kit.schema, OffsetsAdapter: kit.offsets,
		PollInterval: time.Millisecond, ResendInterval: time.Millisecond, RetryInterval: time.Millisecond,
	}
	if t.Defaults {
		kit = kitFor(s.Engine, s.queue, 0)
		config = wsql.SubscriberConfig{SchemaAdapter: kit.schema, OffsetsAdapter: kit.offsets}
	}
	return wsql.NewSubscriber(wsql.BeginnerFromStdSQL(s.DB), config, watermill.NopLogger{})
}
