package migrations

import (
	"errors"

	"github.com/sqloutbox/sqloutbox/internal/invalid"
)

// Errors of Check; Up and Down answer with them too where they can't go on. The message names what is missing and says
// what to do.
var (
	// ErrSchemaMissing: none of the tables exists.
	ErrSchemaMissing = errors.New("the outbox's tables don't exist")
	// ErrSchemaBehind: something that this library needs has not been made yet.
	ErrSchemaBehind = errors.New("the outbox's schema is behind")
	// ErrSchemaAhead: a newer version of this library has migrated. Within a major version all that this one needs is
	// still there, and a caller may go on; otherwise the error is ErrSchemaDamaged too.
	ErrSchemaAhead = errors.New("the outbox's schema is newer than this library")
	// ErrSchemaDamaged: the version table notes every migration, and yet something is missing.
	ErrSchemaDamaged = errors.New("the outbox's schema is damaged")
	// ErrSchemaUnversioned: tables exist, but no version table; something else than Up made them.
	ErrSchemaUnversioned = errors.New("the outbox's tables were not made by migrations.Up")
)

// ErrInvalidOptions: an option is refused. The message names the field. It is outbox.ErrInvalidOptions.
var ErrInvalidOptions = invalid.ErrOptions
