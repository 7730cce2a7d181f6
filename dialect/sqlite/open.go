package sqlite

import (
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	driversqlite "modernc.org/sqlite"
)

// busyTimeout is how long a connection waits for another writer.
//
// A minute, since SQLite's waiting is not fair: with 16 writers in tight loops one waited 9 s in half a minute, and with a
// time-out of 10 s five of them gave up.
const busyTimeout = time.Minute

// settings are what Open adds, each unless the DSN sets it in any of the driver's spellings.
var settings = [...]struct {
	param  string   // as it is added
	keys   []string // DSN parameters that set the same
	pragma string   // the name that a _pragma parameter would use
}{
	// By default it doesn't wait at all.
	{fmt.Sprintf("_pragma=busy_timeout(%d)", busyTimeout.Milliseconds()), []string{"_busy_timeout", "_timeout"}, "busy_timeout"},
	// Readers and the writer don't wait for each other. It is a property of the file and stays with it.
	{"_pragma=journal_mode(WAL)", []string{"_journal_mode", "_journal"}, "journal_mode"},
	// A commit is on the disk before it is reported. With NORMAL, a power cut in WAL mode may take back the last
	// commits, an event that was reported as written among them (sqlite.org/pragma.html#pragma_synchronous).
	{"_pragma=synchronous(FULL)", []string{"_synchronous", "_sync"}, "synchronous"},
	// A transaction of the host's that reads before it writes waits for its turn and is not refused half-way.
	{"_txlock=immediate", []string{"_txlock"}, ""},
}

// Open makes a pool on a file, given as a path or as the driver's DSN ("file:/var/lib/app.db?_pragma=foreign_keys(1)").
// It adds busy_timeout (1 min), WAL, synchronous=FULL and _txlock=immediate where the DSN doesn't set them itself. The
// file is made when it is first used.
//
// SQLite's own parameters, such as mode=ro, need a name that begins with "file:": in another the driver drops them in
// silence, and Open refuses them.
//
// A database in memory exists once for each connection, so the pool of one is limited to a single connection.
func Open(dsn string) (*sql.DB, error) {
	if dsn == "" {
		return nil, errors.New("open sqlite: the DSN is empty: give :memory: or a file")
	}
	full, err := withSettings(dsn)
	if err != nil {
		return nil, fmt.Errorf("open sqlite: %w", err)
	}
	plain, err := driversqlite.NewConnector(full)
	if err != nil {
		return nil, fmt.Errorf("open sqlite: %w", err)
	}
	db := sql.OpenDB(connector{plain})
	if inMemory(dsn) {
		db.SetMaxOpenConns(1)
	}
	return db, nil
}

// uriKeys are SQLite's own parameters, but for vfs, which the driver takes in any name. (sqlite.org/uri.html)
var uriKeys = [...]string{"mode", "cache", "immutable", "nolock", "psow", "modeof"}

// withSettings adds the settings that the DSN lacks.
func withSettings(dsn string) (string, error) {
	_, query, hasQuery := strings.Cut(dsn, "?")
	given, err := url.ParseQuery(query)
	if err != nil {
		return "", fmt.Errorf("parameters of the DSN: %w", err)
	}
	for _, key := range uriKeys {
		if given.Has(key) && !strings.HasPrefix(dsn, "file:") {
			return "", fmt.Errorf("the DSN sets %s, which only a name that begins with \"file:\" can: write file:%s", key, dsn)
		}
	}
	separator := "?"
	if hasQuery {
		separator = "&"
	}
	for _, s := range settings {
		if isSet(given, s.keys, s.pragma) {
			continue
		}
		// A database that can't be written can't be turned to WAL either; it is as it is.
		if s.pragma == "journal_mode" && (given.Get("mode") == "ro" || given.Has("immutable")) {
			continue
		}
		dsn += separator + s.param
		separator = "&"
	}
	return dsn, nil
}

func isSet(given url.Values, keys []string, pragma string) bool {
	for _, key := range keys {
		if given.Has(key) {
			return true
		}
	}
	for _, value := range given["_pragma"] {
		name := strings.ToLower(strings.TrimSpace(value))
		if end := strings.IndexAny(name, "(= \t"); end >= 0 {
			name = name[:end]
		}
		if pragma != "" && strings.TrimPrefix(name, "main.") == pragma {
			return true
		}
	}
	return false
}

// inMemory recognises ":memory:", "file::memory:" and mode=memory.
func inMemory(dsn string) bool {
	name, query, _ := strings.Cut(dsn, "?")
	name = strings.TrimPrefix(name, "file:")
	given, err := url.ParseQuery(query)
	return name == ":memory:" || name == "" || err == nil && given.Get("mode") == "memory"
}
