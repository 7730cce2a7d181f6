package bench

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// thisTree names the code that is measured: a hash over the library's sources and the contestants', without tests. Two parts
// of a run with different ones do not belong on one page.
func thisTree() string {
	root, err := moduleRoot()
	if err != nil {
		return "this tree"
	}
	sum := sha256.New()
	for _, dir := range []string{"outbox", "relay", "dialect", "migrations", "internal", "internal/bench/contest"} {
		err = fs.WalkDir(os.DirFS(root), dir, func(path string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case d.IsDir() && slices.Contains([]string{"internal/bench", "internal/fleet", "internal/engines"}, path):
				return fs.SkipDir
			case d.IsDir():
				return nil
			}
			return addSource(sum, root, path)
		})
		if err != nil {
			return "this tree"
		}
	}
	return "this tree, " + hex.EncodeToString(sum.Sum(nil))[:10]
}

func addSource(sum interface{ Write([]byte) (int, error) }, root, path string) error {
	if strings.HasSuffix(path, "_test.go") || filepath.Ext(path) != ".go" && filepath.Ext(path) != ".sql" || strings.Contains(path, "/testdata/") {
		return nil
	}
	text, err := os.ReadFile(filepath.Join(root, path))
	if err != nil {
		return err
	}
	_, err = sum.Write(append([]byte(path+"\n"), text...))
	return err
}

// moduleRoot is the folder of the library's go.mod, above the one that the program was started in.
func moduleRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		text, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err == nil && bytes.HasPrefix(text, []byte("module github.com/sqloutbox/sqloutbox\n")) {
			return dir, nil
		}
		if above := filepath.Dir(dir); above != dir {
			dir = above
			continue
		}
		return "", fs.ErrNotExist
	}
}
