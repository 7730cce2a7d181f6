package engines

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
)

func postgres() product {
	return product{
		name:     "postgres",
		address:  "postgres://postgres@127.0.0.1:%d/postgres?sslmode=disable",
		variable: "OUTBOX_TEST_POSTGRES",
		users:    []string{"postgres"},
		stop:     syscall.SIGINT, // fast: ends sessions, then a checkpoint
		advice:   "install PostgreSQL 12 or newer (Debian: apt-get install postgresql)",
		settings: []string{
			"-c", "fsync=on",
			"-c", "synchronous_commit=on",
			"-c", "max_connections=300",
			"-c", fmt.Sprintf("shared_buffers=%dMB", cacheMB(256)),
			"-c", "timezone=" + oddZone, "-c", "log_timezone=UTC",
			"-c", "log_checkpoints=off",
		},
		find: findPostgres,
		create: func(p programs, data string) []string {
			return append(p.create, "-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8")
		},
		serve: func(p programs, data string, port int) []string {
			return append(p.server, "-D", data, "-p", fmt.Sprint(port),
				"-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories=")
		},
		install: installPostgres,
		image: image{name: "postgres:17", port: 5432, env: []string{
			"POSTGRES_HOST_AUTH_METHOD=trust", "POSTGRES_INITDB_ARGS=-E UTF8 --locale=C.UTF-8"}},
	}
}

// oddZone is the servers' time zone, far from UTC and not by whole hours, so that a statement which reads local time
// by mistake is seen to be wrong. It is in POSIX form, which needs no time zone tables and counts westward.
const oddZone = "<+0545>-05:45"

// findPostgres looks in PATH and then where Debian puts the server, which is not in PATH; the newest comes first.
func findPostgres() (programs, bool) {
	var dirs []string
	if path, err := exec.LookPath("postgres"); err == nil {
		if path, err = filepath.EvalSymlinks(path); err == nil {
			dirs = append(dirs, filepath.Dir(path))
		}
	}
	debian, _ := filepath.Glob("/usr/lib/postgresql/*/bin") // two-digit versions all, so the names sort by age
	for i := len(debian) - 1; i >= 0; i-- {
		dirs = append(dirs, debian[i])
	}
	for _, dir := range dirs {
		server, create := filepath.Join(dir, "postgres"), filepath.Join(dir, "initdb")
		if executable(server) && executable(create) {
			return programs{server: []string{server}, create: []string{create}, found: "programs in " + dir}, true
		}
	}
	return programs{}, false
}

func executable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

// installPostgres takes care that the package leaves no server behind: without the setting it makes a cluster and
// starts it on port 5432.
func installPostgres(s *steps) error {
	if err := aptUsable(); err != nil {
		return err
	}
	const conf = "/etc/postgresql-common/createcluster.conf"
	before, err := os.ReadFile(conf)
	if err == nil {
		defer os.WriteFile(conf, before, 0o644)
	}
	if err := os.MkdirAll(filepath.Dir(conf), 0o755); err != nil {
		return err
	}
	text := "# Written by sqloutbox's tests before they installed PostgreSQL: they start servers of their own.\n" +
		"create_main_cluster = false\n"
	if err := os.WriteFile(conf, []byte(text), 0o644); err != nil {
		return err
	}
	return s.aptInstall("postgresql")
}
