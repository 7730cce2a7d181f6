package conformance_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var limit = regexp.MustCompile(`\bLIMIT\b`)

// limitedChanges are the statements of a golden file that change rows which a LIMIT chooses.
func limitedChanges(text string) (changes int, limited []string) {
	for s := range strings.SplitSeq(text, ";\n") {
		var lines []string
		for line := range strings.Lines(s) {
			if !strings.HasPrefix(line, "--") {
				lines = append(lines, line)
			}
		}
		s = strings.TrimSpace(strings.Join(lines, ""))
		if s == "" || strings.HasPrefix(s, "SELECT") {
			continue
		}
		if changes++; limit.MatchString(s) {
			limited = append(limited, s)
		}
	}
	return changes, limited
}

// Which rows a LIMIT takes is not said by the statement: where statements are replicated, servers may change different ones, and
// MySQL warns of each. So a SELECT chooses, and rows are changed by their keys. The golden files hold all statements there are.
func TestNoStatementChangesRowsThatALimitChooses(t *testing.T) {
	for text, want := range map[string]int{
		"-- LIMIT\nUPDATE a SET b = 1 WHERE c IN (?, ?);\n":                  0,
		"SELECT a FROM b LIMIT ?;\n":                                         0,
		"-- a\nDELETE FROM a WHERE b = ?\nORDER BY c LIMIT ?;\n\n":           1,
		"UPDATE a SET b = 1 WHERE c IN (SELECT c FROM d LIMIT 5);\n":         1,
		"INSERT INTO a (b) SELECT b FROM c ORDER BY b LIMIT ? FOR UPDATE;\n": 1,
		"WITH a AS (SELECT b FROM c LIMIT 1)\nDELETE FROM c WHERE b IN a;\n": 1,
	} {
		if _, got := limitedChanges(text); len(got) != want {
			t.Errorf("%q: %d, want %d", text, len(got), want)
		}
	}
	files, changes := 0, 0
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".sql" || filepath.Base(filepath.Dir(path)) != "statements" {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		n, limited := limitedChanges(string(text))
		for _, s := range limited {
			t.Errorf("%s: %s", path, s)
		}
		files, changes = files+1, changes+n
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if files == 0 || changes < 10*files {
		t.Errorf("%d files with %d statements that change something: too few to be all", files, changes)
	}
	t.Logf("%d files, %d statements that change something", files, changes)
}
