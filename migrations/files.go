package migrations

import (
	"bytes"
	"embed"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
)

// FS holds the files as they are, with the default names, in the folders postgres, mysql (MariaDB too) and sqlite.
//
//go:embed postgres/*.sql mysql/*.sql sqlite/*.sql
var FS embed.FS

// files are one engine's migrations, rewritten for a set of names: a file system for goose to read.
type files struct {
	dir   fs.FS
	names names
	list  []file
}

// file is a migration: its number and its name in the folder.
type file struct {
	version int64
	name    string
}

func filesOf(engine string, n names) (*files, error) {
	entries, err := FS.ReadDir(engine)
	if err != nil {
		return nil, fmt.Errorf("there are no migrations for the dialect %q: make the tables yourself, as migrations/sqlite does, "+
			"and in the conformance suite by Harness.Migrate", engine)
	}
	dir, err := fs.Sub(FS, engine)
	if err != nil {
		return nil, err
	}
	f := &files{dir: dir, names: n}
	for _, entry := range entries { // ReadDir sorts by name, and so by number
		number, _, _ := strings.Cut(entry.Name(), "_")
		version, err := strconv.ParseInt(number, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("migration %s: %w", path.Join(engine, entry.Name()), err)
		}
		f.list = append(f.list, file{version, entry.Name()})
	}
	return f, nil
}

// latest is the number of the last migration.
func (f *files) latest() int64 { return f.list[len(f.list)-1].version }

// missing are the migrations that are not among the applied versions.
func (f *files) missing(applied []int64) []file {
	var missing []file
	for _, m := range f.list {
		if !slices.Contains(applied, m.version) {
			missing = append(missing, m)
		}
	}
	return missing
}

// ReadFile is a file's text with the names put in.
func (f *files) ReadFile(name string) ([]byte, error) {
	text, err := fs.ReadFile(f.dir, name)
	if err != nil {
		return nil, err
	}
	return []byte(f.names.rewrite(string(text))), nil
}

// Open is fs.FS: directories as they are, files with the names put in.
func (f *files) Open(name string) (fs.File, error) {
	opened, err := f.dir.Open(name)
	if err != nil {
		return nil, err
	}
	info, err := opened.Stat()
	if err != nil || info.IsDir() {
		return opened, err
	}
	defer opened.Close()
	text, err := f.ReadFile(name)
	if err != nil {
		return nil, err
	}
	return &rewritten{Reader: bytes.NewReader(text), info: info}, nil
}

// rewritten is an open file whose text is not the one on disk.
type rewritten struct {
	*bytes.Reader
	info fs.FileInfo
}

func (r *rewritten) Stat() (fs.FileInfo, error) { return rewrittenInfo{r.info, r.Reader.Size()}, nil }
func (r *rewritten) Close() error               { return nil }

type rewrittenInfo struct {
	fs.FileInfo
	size int64
}

func (i rewrittenInfo) Size() int64        { return i.size }
func (i rewrittenInfo) ModTime() time.Time { return time.Time{} }
