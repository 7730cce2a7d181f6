// Package printed tests a program by what it prints.
package printed

import (
	"bytes"
	"context"
	"io"
	"strings"
	"testing"

	"github.com/sqloutbox/sqloutbox/internal/engines"
)

// Once runs a program on a database of each engine, and fails the test unless it prints each of these once. Without a
// database, on one that it makes by itself, it must end well.
func Once(t *testing.T, run func(ctx context.Context, url string, out io.Writer) error, want ...string) {
	t.Helper()
	engines.Each(t, func(t *testing.T, e *engines.Engine) {
		var out bytes.Buffer
		if err := run(t.Context(), e.NewDatabase(t), &out); err != nil {
			t.Fatal(err)
		}
		t.Logf("\n%s", out.String())
		for _, text := range want {
			if strings.Count(out.String(), text) != 1 {
				t.Errorf("want %q once", text)
			}
		}
	})
	if err := run(t.Context(), "", io.Discard); err != nil {
		t.Error(err)
	}
}
