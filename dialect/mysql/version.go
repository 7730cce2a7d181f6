package mysql

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/sqloutbox/sqloutbox/internal/server"
)

// version is what VERSION() says, read.
type version struct {
	kind                string // server.MySQL, server.MariaDB or server.TiDB
	major, minor, patch int
}

var numbers = regexp.MustCompile(`^(\d+)\.(\d+)(?:\.(\d+))?`)

// replicationPrefix stands before MariaDB's own version in its handshake, and in VERSION() behind some proxies, since
// old replicas took a leading 10 for 1.
const replicationPrefix = "5.5.5-"

// parseVersion reads "8.0.36", "9.7.4-2", "8.0.36-28.1" (Percona), "10.11.19-MariaDB-0+deb12u1",
// "5.5.5-10.6.12-MariaDB", "8.0.11-TiDB-v7.5.0" and Aurora's "8.0.mysql_aurora.3.04.0", whose lines 2 and 3 are
// MySQL 5.7 and 8.0.23 or later.
func parseVersion(text string) (version, error) {
	v := version{kind: server.MySQL}
	lower := strings.ToLower(text)
	switch {
	case strings.Contains(lower, "tidb"):
		v.kind = server.TiDB
	case strings.Contains(lower, "mariadb"):
		v.kind = server.MariaDB
		text = strings.TrimPrefix(text, replicationPrefix)
	}
	found := numbers.FindStringSubmatch(text)
	if found == nil {
		return version{}, fmt.Errorf("read the version %q: it doesn't begin with a number", text)
	}
	// The expression lets digits through only; a number too long for an int stays 0 and is refused as too old.
	v.major, _ = strconv.Atoi(found[1])
	v.minor, _ = strconv.Atoi(found[2])
	v.patch, _ = strconv.Atoi(found[3])
	if strings.Contains(lower, "mysql_aurora.3") {
		v.patch = 23
	}
	return v, nil
}

// suits says why the version will not do, or nothing. MySQL has SKIP LOCKED since 8.0.1, expressions as column defaults
// since 8.0.13, and heeds a CHECK since 8.0.16: before, it read and forgot it. MariaDB has SKIP LOCKED since 10.6, and the
// other two since 10.2.
func (v version) suits() error {
	switch v.kind {
	case server.TiDB:
		return fmt.Errorf("the server is TiDB, which has no SKIP LOCKED: use MySQL 8.0.16 or later, or MariaDB 10.6 or later")
	case server.MariaDB:
		if !v.atLeast(10, 6, 0) {
			return fmt.Errorf("the server is too old: MariaDB 10.6 or later is needed for SKIP LOCKED, this is %d.%d.%d", v.major, v.minor, v.patch)
		}
	default:
		if !v.atLeast(8, 0, 16) {
			return fmt.Errorf("the server is too old: MySQL 8.0.16 or later is needed for SKIP LOCKED, computed defaults and CHECK, this is %d.%d.%d", v.major, v.minor, v.patch)
		}
	}
	return nil
}

func (v version) atLeast(major, minor, patch int) bool {
	if v.major != major {
		return v.major > major
	}
	if v.minor != minor {
		return v.minor > minor
	}
	return v.patch >= patch
}
