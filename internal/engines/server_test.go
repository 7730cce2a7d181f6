package engines

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// One server goes through it all, since making MySQL's data directory is the slowest step by far.
func TestAServerOfOurOwn(t *testing.T) {
	for _, name := range servers() {
		t.Run(name, func(t *testing.T) {
			h := ownServer(t, name)
			leaveHalfADataDirectory(t, h)
			t.Run("processes at once share one server", func(t *testing.T) { testAtOnce(t, h) })
			t.Run("started again with what was committed after it was killed", func(t *testing.T) { testKilled(t, h) })
			t.Run("begins anew when its data directory is no good", func(t *testing.T) { testDamaged(t, h) })
			t.Run("down stops it and drops what tests left", func(t *testing.T) { testDown(t, h) })
		})
	}
}

// leaveHalfADataDirectory does what a process does that is killed while it makes one.
func leaveHalfADataDirectory(t *testing.T, h home) {
	if err := os.MkdirAll(filepath.Join(h.path("data.new"), "base"), 0o700); err != nil {
		t.Fatal(err)
	}
}

func testAtOnce(t *testing.T, h home) {
	outs := make([]bytes.Buffer, 3)
	var cmds []*exec.Cmd
	for i := range outs {
		cmd := helper(t, h.product.name)
		// Pipes: Wait returns when they are closed, and fails after WaitDelay if the server has inherited them.
		cmd.Stdout, cmd.Stderr = &outs[i], &outs[i]
		cmd.WaitDelay = 10 * time.Second
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		cmds = append(cmds, cmd)
	}
	starts := 0
	for i, cmd := range cmds {
		if err := cmd.Wait(); err != nil {
			t.Fatalf("%v\n%s", err, outs[i].String())
		}
		starts += strings.Count(outs[i].String(), "starting ")
	}
	if starts != 1 {
		t.Errorf("it was started %d times", starts)
	}
	rec := load(t, h)
	for i := range outs {
		lines := strings.Fields(outs[i].String())
		if port := lines[len(lines)-1]; port != strconv.Itoa(rec.Port) {
			t.Errorf("process %d got port %s, want %d", i, port, rec.Port)
		}
	}
}

func testKilled(t *testing.T, h home) {
	url := Get(t, h.product.name).NewDatabase(t)
	execForTest(t, url, "CREATE TABLE t (id INTEGER)")
	execForTest(t, url, "INSERT INTO t VALUES (1)")
	kill(t, load(t, h))

	Get(t, h.product.name)
	execForTest(t, url, "INSERT INTO t VALUES (2)") // the URL of before is good
	var n int
	db := openForTest(t, url)
	if err := db.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM t").Scan(&n); err != nil || n != 2 {
		t.Errorf("got %d rows, %v, want 2", n, err)
	}
}

func testDamaged(t *testing.T, h home) {
	rec := load(t, h)
	if rec.Container != "" {
		t.Skip("a container's data directory is out of reach")
	}
	kill(t, rec)
	for _, file := range []string{"PG_VERSION", "ibdata1"} {
		damaged := filepath.Join(h.path("data"), file)
		if _, err := os.Stat(damaged); err != nil {
			continue // of the other product
		}
		if err := os.WriteFile(damaged, []byte("damaged"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	Get(t, h.product.name).NewDatabase(t)
}

func testDown(t *testing.T, h home) {
	left, _, err := Get(t, h.product.name).Create(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	rec := load(t, h)
	if err := Down(t.Context(), h.product.name); err != nil {
		t.Fatal(err)
	}
	if rec.alive() {
		t.Error("its process is still there")
	}
	if _, err := Status(t.Context(), h.product.name); !errors.Is(err, ErrNotRunning) {
		t.Errorf("Status: got %v, want that it is not running", err)
	}
	// The port may be another one now.
	left, err = withDatabase(Get(t, h.product.name).AdminURL(), path.Base(left))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := probe(t.Context(), left); err == nil {
		t.Error("a database that was left is still there")
	}
}

func load(t *testing.T, h home) record {
	t.Helper()
	rec, err := h.load()
	if err != nil {
		t.Fatal(err)
	}
	return rec
}

func kill(t *testing.T, rec record) {
	t.Helper()
	var err error
	if rec.Container != "" {
		err = exec.CommandContext(t.Context(), "docker", "kill", rec.Container).Run()
	} else {
		err = syscall.Kill(rec.PID, syscall.SIGKILL)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func execForTest(t *testing.T, url, query string) {
	t.Helper()
	if _, err := openForTest(t, url).ExecContext(t.Context(), query); err != nil {
		t.Fatal(err)
	}
}
