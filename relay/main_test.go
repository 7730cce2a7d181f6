package relay_test

import (
	"testing"

	"github.com/sqloutbox/sqloutbox/internal/engines"
)

func TestMain(m *testing.M) { engines.Main(m, 8) }
