package tally

import (
	"testing"

	"github.com/sqloutbox/sqloutbox/internal/golden"
)

func TestStatementsAreHeldInGoldenFiles(t *testing.T) {
	golden.Check(t, map[string]string{"insert": insert, "add": add})
}
