package engines

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// helperVariable makes this test binary a process that brings one engine up, prints its port and ends.
const helperVariable = "OUTBOX_TEST_ENGINES_HELPER"

func TestMain(m *testing.M) {
	name := os.Getenv(helperVariable)
	if name == "" {
		os.Exit(m.Run())
	}
	e, err := Up(context.Background(), name, os.Stderr)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(e.Port)
}

// helper returns the command of another process that brings the engine up.
func helper(t *testing.T, name string) *exec.Cmd {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self)
	cmd.Env = append(os.Environ(), helperVariable+"="+name)
	return cmd
}

// ownServer gives the test servers apart from those that other tests use, since it does violence to them. A server
// that a variable names cannot be taken, so there the test is skipped.
func ownServer(t *testing.T, name string) home {
	p, err := productOf(name)
	if err != nil {
		t.Fatal(err)
	}
	if os.Getenv(p.variable) != "" {
		t.Skipf("%s is set: the server is not ours to kill", p.variable)
	}
	// Not TempDir: it may be below a directory that is closed to the server's user.
	dir, err := os.MkdirTemp(filepath.Dir(Dir()), "sqloutbox-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv(DirVariable, dir)
	h, err := openHome(p)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := Down(ctx, name); err != nil {
			t.Error(err)
		}
	})
	return h
}

// need skips a test of an engine that ENGINES leaves out.
func need(t *testing.T, name string) {
	t.Helper()
	if !slices.Contains(Names(), name) {
		t.Skipf("ENGINES leaves %s out", name)
	}
}

// servers are the engines of this run that have one.
func servers() []string {
	var names []string
	for _, name := range Names() {
		if name != "sqlite" {
			names = append(names, name)
		}
	}
	return names
}
