module github.com/sqloutbox/sqloutbox/relay/webhook/standard

go 1.26.0

replace github.com/sqloutbox/sqloutbox => ../../..

require (
	github.com/sqloutbox/sqloutbox v0.0.0-00010101000000-000000000000
	github.com/standard-webhooks/standard-webhooks/libraries v0.0.1
)

require github.com/google/uuid v1.6.0 // indirect
