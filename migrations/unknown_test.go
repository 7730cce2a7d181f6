package migrations_test

import (
	"database/sql"
	"strings"
	"testing"

	"github.com/sqloutbox/sqloutbox/dialect"
	"github.com/sqloutbox/sqloutbox/dialect/sqlite"
	"github.com/sqloutbox/sqloutbox/migrations"
)

type elsewhere struct{ dialect.Dialect }

func (elsewhere) Name() string { return "elsewhere" }

func TestADialectWithoutMigrationsIsToldWhatToDo(t *testing.T) {
	d := elsewhere{sqlite.New()}
	_, err := migrations.SQL(d, nil)
	for name, err := range map[string]error{"SQL": err, "Up": migrations.Up(t.Context(), &sql.DB{}, d, nil)} {
		if err == nil || !strings.Contains(err.Error(), `"elsewhere"`) || !strings.Contains(err.Error(), "Harness.Migrate") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
