package fanout

import (
	"strings"
	"testing"

	"github.com/sqloutbox/sqloutbox/internal/golden"
)

func TestStatementsAreHeldInGoldenFiles(t *testing.T) {
	golden.Check(t, map[string]string{
		"readSubscriptions": readSubscriptions, "countSubscriptions": countSubscriptions, "readRoom": readRoom, "keep": keep,
		"insertDeliveries": strings.Replace(insertDeliveries, "{rows}", deliveryRow+", "+deliveryRow, 1),
		"lockFeed":         lockFeed,
	})
}

func TestOwnTopicsAreForThoseWhoNameThem(t *testing.T) {
	for _, c := range []struct {
		pattern, topic string
		want           bool
	}{
		{"*", "orders.placed", true},
		{"*", "sqloutbox.webhook.disabled", false},
		{"sqloutbox.*", "sqloutbox.webhook.disabled", true},
		{"sqloutbox.webhook.disabled", "sqloutbox.webhook.disabled", true},
		{"sqloutbox.*", "orders.placed", false},
	} {
		if Match([]string{"other", c.pattern}, c.topic) != c.want {
			t.Errorf("%q takes %q: %v", c.pattern, c.topic, !c.want)
		}
	}
}
