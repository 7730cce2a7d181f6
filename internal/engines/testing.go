package engines

import (
	"context"
	"flag"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"
)

// Each runs fn as one subtest per engine, named after it, one after the other. An engine that cannot be had fails its
// subtest with advice.
func Each(t *testing.T, fn func(t *testing.T, e *Engine)) {
	t.Helper()
	EachOf(t, Names(), fn)
}

// EachAtOnce is Each with the engines beside each other, for a test that mostly waits.
func EachAtOnce(t *testing.T, fn func(t *testing.T, e *Engine)) {
	t.Helper()
	Each(t, func(t *testing.T, e *Engine) {
		t.Parallel()
		fn(t, e)
	})
}

// EachOf is Each for a test of these engines alone. Where ENGINES leaves one out its subtest is skipped, and says so.
func EachOf(t *testing.T, names []string, fn func(t *testing.T, e *Engine)) {
	t.Helper()
	for _, name := range names {
		t.Run(name, func(t *testing.T) { fn(t, One(t, name)) })
	}
}

// Main runs a package's tests, up to n that are parallel at once, unless -parallel says otherwise: most of a test is waiting for
// a disk or a time-out, whatever the number of cores is.
func Main(m *testing.M, n int) {
	flag.Parse()
	asked := false
	flag.Visit(func(f *flag.Flag) { asked = asked || f.Name == "test.parallel" })
	if !asked {
		if err := flag.Set("test.parallel", strconv.Itoa(n)); err != nil {
			panic(err) // n is no number of tests
		}
	}
	os.Exit(m.Run())
}

// One is Get for a test of that engine alone. It skips the test, and says so, where ENGINES narrows the run to others.
func One(t testing.TB, name string) *Engine {
	t.Helper()
	if !slices.Contains(Names(), name) {
		t.Skipf("ENGINES leaves %s out", name)
	}
	return Get(t, name)
}

// Get returns the engine, up. It fails the test with advice if the engine cannot be had.
func Get(t testing.TB, name string) *Engine {
	t.Helper()
	e, err := Up(t.Context(), name, testLog{t})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// NewDatabase makes an empty database of its own for the test and returns its URL. It is dropped when the test ends,
// whatever is still connected to it.
func (e *Engine) NewDatabase(t testing.TB) string {
	t.Helper()
	if e.Name == "sqlite" {
		return "sqlite:" + filepath.Join(t.TempDir(), "test.db")
	}
	url, drop, err := e.create(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		// The test's own context has ended by now.
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		// Not a failure: the test may have brought the server down on purpose, and Down drops what is left.
		if err := drop(ctx); err != nil {
			t.Log(err)
		}
	})
	return url
}

// testLog sends the progress lines of a bring-up to the test's log.
type testLog struct{ testing.TB }

var _ io.Writer = testLog{}

func (l testLog) Write(p []byte) (int, error) {
	l.Helper()
	l.Logf("%s", p)
	return len(p), nil
}
