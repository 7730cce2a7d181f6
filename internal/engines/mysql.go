package engines

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

func mysql() product {
	return product{
		name:     "mysql",
		address:  "mysql://root@127.0.0.1:%d/",
		variable: "OUTBOX_TEST_MYSQL",
		users:    []string{"mysql"},
		stop:     syscall.SIGTERM,
		advice:   "install MySQL 8.0 or newer (its server program is mysqld), or mmdebstrap",
		settings: append(innodbSettings(), "--mysqlx=OFF",
			"--max-binlog-size=64M", "--binlog-expire-logs-seconds=600"), // it may be in memory
		find: findMySQL,
		create: func(p programs, data string) []string {
			return append(p.create, "--initialize-insecure", "--datadir="+data)
		},
		serve: func(p programs, data string, port int) []string {
			return append(p.server, "--datadir="+data, fmt.Sprintf("--port=%d", port),
				"--bind-address=127.0.0.1", "--socket="+filepath.Join(data, "s.sock"),
				"--pid-file="+filepath.Join(data, "pid"))
		},
		install: unpackMySQL,
		image: image{name: "mysql:8.4", port: 3306,
			env: []string{"MYSQL_ALLOW_EMPTY_PASSWORD=1", "MYSQL_ROOT_HOST=%"}},
	}
}

// findMySQL takes an installed mysqld if it is MySQL's, since MariaDB installs a program of the same name, and else
// the tree that unpackMySQL left.
func findMySQL() (programs, bool) {
	if path, ok := findProgram("mysqld"); ok && isMySQL(path) {
		line := []string{path, "--no-defaults"}
		return programs{server: line, create: line, found: "program " + path}, true
	}
	return findTree()
}

func isMySQL(path string) bool {
	out, err := exec.Command(path, "--no-defaults", "--version").Output()
	return err == nil && !strings.Contains(string(out), "MariaDB")
}
