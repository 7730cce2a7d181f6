package engines

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"syscall"
)

func mariadb() product {
	return product{
		name:     "mariadb",
		address:  "mariadb://root@127.0.0.1:%d/",
		variable: "OUTBOX_TEST_MARIADB",
		users:    []string{"mysql"},
		stop:     syscall.SIGTERM,
		advice:   "install MariaDB 10.6 or newer (Debian: apt-get install mariadb-server-core mariadb-client-core)",
		settings: append(innodbSettings(),
			"--character-set-server=utf8mb4", // the server's own default is latin1 up to 11.5
			"--log-warnings=1",               // not each connection that a test cuts off
		),
		find: findMariaDB,
		create: func(p programs, data string) []string {
			return append(p.create, "--no-defaults", "--datadir="+data,
				"--auth-root-authentication-method=normal", "--skip-test-db")
		},
		serve: func(p programs, data string, port int) []string {
			return append(p.server, "--no-defaults", "--datadir="+data, fmt.Sprintf("--port=%d", port),
				"--bind-address=127.0.0.1", "--socket="+filepath.Join(data, "s.sock"),
				"--pid-file="+filepath.Join(data, "pid"))
		},
		install: func(s *steps) error { return s.aptInstall("mariadb-server-core", "mariadb-client-core") },
		image:   image{name: "mariadb:11.4", port: 3306, env: []string{"MARIADB_ALLOW_EMPTY_ROOT_PASSWORD=1"}},
	}
}

// innodbSettings are what MySQL and MariaDB have in common. The binary log is left as each has it by default: on for
// MySQL, with sync_binlog=1, so that a commit there costs what it costs in production; off for MariaDB.
func innodbSettings() []string {
	return []string{
		"--innodb-flush-log-at-trx-commit=1",
		fmt.Sprintf("--innodb-buffer-pool-size=%dM", cacheMB(512)),
		"--innodb-print-all-deadlocks=ON", // into the log, for a test that has one to look at
		"--max-connections=300",
		"--default-time-zone=+05:45", // see oddZone
	}
}

func findMariaDB() (programs, bool) {
	server, ok := findProgram("mariadbd")
	if !ok {
		return programs{}, false
	}
	for _, name := range []string{"mariadb-install-db", "mysql_install_db"} {
		if create, ok := findProgram(name); ok {
			return programs{server: []string{server}, create: []string{create}, found: "program " + server}, true
		}
	}
	return programs{}, false
}

// findProgram looks in PATH and in the directories of servers, which an ordinary user's PATH leaves out.
func findProgram(name string) (string, bool) {
	if path, err := exec.LookPath(name); err == nil {
		return path, true
	}
	for _, dir := range []string{"/usr/sbin", "/usr/local/sbin", "/usr/libexec", "/usr/local/mysql/bin"} {
		if path := filepath.Join(dir, name); executable(path) {
			return path, true
		}
	}
	return "", false
}
