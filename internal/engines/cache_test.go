package engines

import (
	"slices"
	"strings"
	"testing"
)

func TestCacheVariable(t *testing.T) {
	for _, c := range []struct{ text, postgres, mysql string }{
		{"", "shared_buffers=256MB", "--innodb-buffer-pool-size=512M"},
		{"64", "shared_buffers=64MB", "--innodb-buffer-pool-size=64M"},
		{"6000", "shared_buffers=6000MB", "--innodb-buffer-pool-size=6000M"},
	} {
		t.Setenv(CacheVariable, c.text)
		for name, want := range map[string]string{"postgres": c.postgres, "mysql": c.mysql, "mariadb": c.mysql} {
			p, err := productOf(name)
			if err != nil || !slices.Contains(p.settings, want) {
				t.Errorf("%q: %s has %q, %v, want %s", c.text, name, p.settings, err, want)
			}
		}
	}
	for _, bad := range []string{"63", "-1", "1G", " 512"} {
		t.Setenv(CacheVariable, bad)
		if _, err := productOf("mysql"); err == nil || !strings.Contains(err.Error(), CacheVariable) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}
