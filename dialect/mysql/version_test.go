package mysql

import (
	"strings"
	"testing"

	"github.com/sqloutbox/sqloutbox/internal/server"
)

func TestVersionsAreToldApart(t *testing.T) {
	tests := []struct {
		text    string
		want    version
		refused string // a part of the message; empty: it suits
	}{
		{"8.0.36", version{server.MySQL, 8, 0, 36}, ""},
		{"8.0.36-0ubuntu0.22.04.1", version{server.MySQL, 8, 0, 36}, ""},
		{"8.4.0", version{server.MySQL, 8, 4, 0}, ""},
		{"9.7.4-2", version{server.MySQL, 9, 7, 4}, ""},
		{"10.0.0", version{server.MySQL, 10, 0, 0}, ""},
		{"8.0.36-28.1", version{server.MySQL, 8, 0, 36}, ""},             // Percona
		{"8.0.33-25-debug", version{server.MySQL, 8, 0, 33}, ""},         // Percona XtraDB
		{"8.0.mysql_aurora.3.04.0", version{server.MySQL, 8, 0, 23}, ""}, // Aurora 3
		{"8.0.30-Vitess", version{server.MySQL, 8, 0, 30}, ""},
		{"10.6.0-MariaDB", version{server.MariaDB, 10, 6, 0}, ""},
		{"10.11.19-MariaDB-0+deb12u1", version{server.MariaDB, 10, 11, 19}, ""},
		{"5.5.5-10.6.12-MariaDB", version{server.MariaDB, 10, 6, 12}, ""},
		{"5.5.5-10.6.12-MariaDB-1:10.6.12+maria~ubu2004-log", version{server.MariaDB, 10, 6, 12}, ""},
		{"11.4.2-MariaDB-log", version{server.MariaDB, 11, 4, 2}, ""},

		{"8.0.16", version{server.MySQL, 8, 0, 16}, ""},
		{"8.0.15", version{server.MySQL, 8, 0, 15}, "MySQL 8.0.16 or later is needed"},
		{"8.0.0-dmr", version{server.MySQL, 8, 0, 0}, "this is 8.0.0"},
		{"5.7.44-log", version{server.MySQL, 5, 7, 44}, "this is 5.7.44"},
		{"5.7.mysql_aurora.2.11.1", version{server.MySQL, 5, 7, 0}, "this is 5.7.0"},
		{"10.5.22-MariaDB", version{server.MariaDB, 10, 5, 22}, "MariaDB 10.6 or later is needed"},
		{"5.5.5-10.3.39-MariaDB", version{server.MariaDB, 10, 3, 39}, "this is 10.3.39"},
		{"5.5.68-MariaDB", version{server.MariaDB, 5, 5, 68}, "this is 5.5.68"},
		{"8.0.11-TiDB-v7.5.0", version{server.TiDB, 8, 0, 11}, "TiDB, which has no SKIP LOCKED"},
		{"5.7.25-TiDB-v6.1.0", version{server.TiDB, 5, 7, 25}, "TiDB"},
	}
	for _, test := range tests {
		got, err := parseVersion(test.text)
		if err != nil {
			t.Errorf("%s: %v", test.text, err)
			continue
		}
		if got != test.want {
			t.Errorf("%s: %v, want %v", test.text, got, test.want)
		}
		switch err := got.suits(); {
		case err == nil && test.refused != "":
			t.Errorf("%s is accepted", test.text)
		case err != nil && test.refused == "":
			t.Errorf("%s: %v", test.text, err)
		case err != nil && !strings.Contains(err.Error(), test.refused):
			t.Errorf("%s: %v: doesn't say %q", test.text, err, test.refused)
		}
	}
}

func TestAVersionWithoutANumberIsAnError(t *testing.T) {
	for _, text := range []string{"", "MariaDB", "v8.0.36", "8", "CockroachDB CCL v23.1"} {
		if v, err := parseVersion(text); err == nil {
			t.Errorf("%q was read as %v", text, v)
		}
	}
}
