// Package golden holds the engines' own text of every shared statement in files, so that a change of one shows in
// review.
package golden

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"maps"

	"github.com/sqloutbox/sqloutbox/dialect"
	"github.com/sqloutbox/sqloutbox/dialect/mysql"
	"github.com/sqloutbox/sqloutbox/dialect/postgres"
	"github.com/sqloutbox/sqloutbox/dialect/sqlite"
	"github.com/sqloutbox/sqloutbox/internal/sqltext"
)

// Check compares the statements of the package in the current directory, rendered for each engine, with
// testdata/statements/ENGINE.sql, and checks that none of the package's statements is left out. With UPDATE_GOLDEN=1
// in the environment it writes the files.
func Check(t *testing.T, statements map[string]string) {
	t.Helper()
	for _, name := range declared(t) {
		if _, ok := statements[name]; !ok {
			t.Errorf("the statement %s is not held in a golden file: add it to the test's list", name)
		}
	}
	for _, d := range []dialect.Dialect{postgres.New(), mysql.New(), sqlite.New()} {
		t.Run(d.Name(), func(t *testing.T) {
			compare(t, filepath.Join("testdata", "statements", d.Name()+".sql"), render(t, d, statements))
		})
	}
}

func render(t *testing.T, d dialect.Dialect, statements map[string]string) []byte {
	t.Helper()
	r := sqltext.New(d, "", sqltext.DefaultPrefix)
	var b bytes.Buffer
	for _, name := range slices.Sorted(maps.Keys(statements)) {
		text := r.List(statements[name], 2)
		if strings.ContainsAny(text, "{}") {
			t.Errorf("%s holds a name in braces that nothing fills in: %s", name, text)
		}
		if hidden(statements[name]) {
			t.Errorf("%s holds a ? in a literal or a comment, which Bind would rewrite", name)
		}
		fmt.Fprintf(&b, "-- %s\n%s;\n\n", name, text)
	}
	return b.Bytes()
}

// hidden reports whether a placeholder stands in a literal or a comment.
func hidden(statement string) bool {
	for i, part := range strings.Split(statement, "'") {
		if i%2 == 1 && strings.Contains(part, "?") {
			return true
		}
	}
	return comment.MatchString(statement)
}

var comment = regexp.MustCompile(`--.*\?|/\*.*\?`)

func compare(t *testing.T, file string, got []byte) {
	t.Helper()
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s is out of date: if the change is meant, run UPDATE_GOLDEN=1 go test and review the difference", file)
	}
}

var isStatement = regexp.MustCompile(`^(SELECT|INSERT|UPDATE|DELETE|\{update_|\{delete_)`)

// declared are the names of the constants in the current directory that begin with an SQL verb.
func declared(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range files {
		if strings.HasSuffix(f, "_test.go") {
			continue
		}
		tree, err := parser.ParseFile(token.NewFileSet(), f, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(tree, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok {
				return true
			}
			for i, v := range spec.Values {
				if text, ok := firstLiteral(v); ok && isStatement.MatchString(text) {
					names = append(names, spec.Names[i].Name)
				}
			}
			return true
		})
	}
	return names
}

func firstLiteral(e ast.Expr) (string, bool) {
	switch e := e.(type) {
	case *ast.BinaryExpr:
		return firstLiteral(e.X)
	case *ast.BasicLit:
		if e.Kind == token.STRING {
			text, err := strconv.Unquote(e.Value)
			return text, err == nil
		}
	}
	return "", false
}
