package bench

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/sqloutbox/sqloutbox/internal/bench/contest"
	"github.com/sqloutbox/sqloutbox/internal/engines"
)

// EngineInfo is an engine as it ran.
type EngineInfo struct {
	Name, Version string
	Settings      []string // "name = value": what commits rest on, the same for all contestants
}

// settingsOf are asked one by one, each for a single value.
var settingsOf = map[string][][2]string{
	"postgres": {
		{"fsync", "SHOW fsync"}, {"synchronous_commit", "SHOW synchronous_commit"},
		{"full_page_writes", "SHOW full_page_writes"}, {"wal_sync_method", "SHOW wal_sync_method"},
		{"shared_buffers", "SHOW shared_buffers"},
	},
	"mysql":   mysqlSettings,
	"mariadb": mysqlSettings,
	"sqlite": {
		{"journal_mode", "PRAGMA journal_mode"}, {"synchronous (2 is FULL)", "PRAGMA synchronous"},
		{"fullfsync", "PRAGMA fullfsync"}, {"cache_size", "PRAGMA cache_size"},
	},
}

var mysqlSettings = [][2]string{
	{"innodb_flush_log_at_trx_commit", "SELECT @@innodb_flush_log_at_trx_commit"},
	{"innodb_doublewrite", "SELECT @@innodb_doublewrite"}, {"innodb_flush_method", "SELECT @@innodb_flush_method"},
	{"log_bin", "SELECT @@log_bin"}, {"sync_binlog", "SELECT @@sync_binlog"},
	{"innodb_buffer_pool_size", "SELECT @@innodb_buffer_pool_size"},
}

// infoOf asks in a database that is made as the contestants' are.
func infoOf(ctx context.Context, e *engines.Engine) (EngineInfo, error) {
	info := EngineInfo{Name: e.Name, Version: e.Version}
	p, err := contest.NewPlace(ctx, e)
	if err != nil {
		return info, err
	}
	defer p.Close()
	for _, s := range settingsOf[e.Name] {
		var value string
		if err := p.DB.QueryRowContext(ctx, s[1]).Scan(&value); err != nil {
			return info, fmt.Errorf("settings of %s: %s: %w", e.Name, s[0], err)
		}
		info.Settings = append(info.Settings, s[0]+" = "+value)
	}
	info.Settings = append(info.Settings, "files on "+filesOn(e))
	return info, nil
}

// filesOn is the kind of file system that the engine's files lie on, if they lie on this machine's.
func filesOn(e *engines.Engine) string {
	dir := engines.Dir()
	switch {
	case e.Name == "sqlite":
		dir = os.TempDir()
	case strings.HasPrefix(e.Found, "OUTBOX_TEST_"):
		return "another's server"
	}
	mounts, err := os.ReadFile("/proc/mounts")
	if err != nil {
		return "an unknown file system"
	}
	at, kind := "", "an unknown file system"
	for line := range strings.Lines(string(mounts)) {
		f := strings.Fields(line)
		if len(f) > 2 && len(f[1]) >= len(at) && (dir == f[1] || strings.HasPrefix(dir, strings.TrimSuffix(f[1], "/")+"/")) {
			at, kind = f[1], f[2]
		}
	}
	return kind
}
