package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/sqloutbox/sqloutbox/dialect/all"
	"github.com/sqloutbox/sqloutbox/internal/engines"
)

// asProgram makes the test binary behave like the program, for tests that need it as a process of its own.
const asProgram = "SQLOUTBOX_QUICKSTART_TEST_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(relayEnv) != "" || os.Getenv(asProgram) != "" {
		main() // exits
	}
	os.Exit(m.Run())
}

// runProgram is the program as a function.
func runProgram(t *testing.T, stdin string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, err bytes.Buffer
	code = run(t.Context(), args, strings.NewReader(stdin), &out, &err)
	t.Logf("exit code %d\n%s%s", code, err.String(), out.String())
	return code, out.String(), err.String()
}

func TestNothingIsLostOnAnyEngine(t *testing.T) {
	engines.Each(t, func(t *testing.T, e *engines.Engine) {
		url := e.NewDatabase(t)
		code, out, progress := runProgram(t, "", "-db", url, "-n", "70")
		if code != 0 {
			t.Errorf("exit code %d, want 0", code)
		}
		for _, want := range []string{
			"committed        60 ", "rolled back      10 ", "received         60 ", "lost              0 ",
			"invented          0 ", "order          kept ",
		} {
			if !strings.Contains(out, "\n"+want) && !strings.HasPrefix(out, want) {
				t.Errorf("the report lacks %q", want)
			}
		}
		if !strings.Contains(progress, "killed with SIGKILL") {
			t.Error("no relay was killed")
		}
		if strings.Contains(out, "duplicates        0 ") {
			t.Error("no duplicates: the kill was to hit a relay that waited for an answer")
		}
		if names := tables(t, url); names != "" {
			t.Errorf("tables are left behind: %s", names)
		}
	})
}

// tables lists what a run left in a database.
func tables(t *testing.T, url string) string {
	t.Helper()
	db, d, err := all.Open(url)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	query := "SELECT table_name FROM information_schema.tables WHERE table_name LIKE 'quickstart%'"
	if d.Name() == "sqlite" {
		query = "SELECT name FROM sqlite_master WHERE name LIKE 'quickstart%'"
	}
	names, err := column(t.Context(), db, query)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(names, ", ")
}

func TestItNeedsNoArguments(t *testing.T) {
	t.Chdir(t.TempDir()) // the built-in events are found from anywhere
	t.Setenv("TMPDIR", t.TempDir())
	if code, _, _ := runProgram(t, "", "-n", "20"); code != 0 {
		t.Errorf("exit code %d, want 0", code)
	}
	if left, err := os.ReadDir(os.Getenv("TMPDIR")); err != nil || len(left) > 0 {
		t.Errorf("left in the temporary directory: %v, %v", left, err)
	}
}

func TestStandardInputIsRead(t *testing.T) {
	in := `{"topic":"a","payload":1}` + "\n\n" + `{"topic":"b","key":"k","payload":{"long":"` + strings.Repeat("x", 100_000) + `"}}`
	code, out, _ := runProgram(t, in, "-in", "-", "-n", "3")
	if code != 0 || !strings.Contains(out, "committed         3 ") {
		t.Errorf("exit code %d, want 0 and 3 committed", code)
	}
}

func TestBadInputIsNamedAndExitsWith2(t *testing.T) {
	good := `{"topic":"a","payload":1}` + "\n"
	for _, c := range []struct {
		name, stdin, want string
		args              []string
	}{
		{"broken JSON", good + "\n" + `{"topic":`, "standard input, line 3: not an event", []string{"-in", "-"}},
		{"topic of another type", good + `{"topic":5,"payload":1}`, "line 2", []string{"-in", "-"}},
		{"no topic", good + `{"payload":1}`, `line 2: not an event: "topic" is missing`, []string{"-in", "-"}},
		{"no payload", `{"topic":"a"}`, `line 1: not an event: "payload" is missing`, []string{"-in", "-"}},
		{"no event", "\n \n", "there is no event in it", []string{"-in", "-"}},
		{"a limit of the outbox", good + fmt.Sprintf(`{"topic":"a","key":%q,"payload":1}`, strings.Repeat("k", 300)), "line 2: write: event 0: Key has 300 bytes", []string{"-in", "-"}},
		{"no such file", "", "no/such/file", []string{"-in", "no/such/file"}},
		{"n", "", "-n 0: must be at least 1", []string{"-n", "0"}},
		{"argument", "", `unexpected argument "x"`, []string{"x"}},
		{"flag", "", "flag provided but not defined", []string{"-x"}},
		{"engine", "", `the URL begins with "oracle"`, []string{"-db", "oracle://x"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			code, out, message := runProgram(t, c.stdin, c.args...)
			if code != 2 {
				t.Errorf("exit code %d, want 2", code)
			}
			if !strings.Contains(message, c.want) {
				t.Errorf("the message lacks %q", c.want)
			}
			if out != "" {
				t.Error("there is a report")
			}
		})
	}
}

func TestADatabaseThatIsAwayIsSaid(t *testing.T) {
	code, _, message := runProgram(t, "", "-db", "postgres://nobody@127.0.0.1:1/none", "-n", "5")
	if code != 1 || !strings.Contains(message, "connection refused") {
		t.Errorf("exit code %d, want 1 and a message with the cause", code)
	}
}

func TestAnInterruptTidiesUp(t *testing.T) {
	url := engines.Get(t, "sqlite").NewDatabase(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	// The interrupt comes when the first relay is at work.
	progress := writerFunc(func(p []byte) (int, error) {
		if bytes.Contains(p, []byte("owns the lease")) {
			cancel()
		}
		return len(p), nil
	})
	var message bytes.Buffer
	code := run(ctx, []string{"-db", url, "-n", "1000000"}, nil, io.Discard, io.MultiWriter(progress, &message))
	if code != 1 || !strings.HasSuffix(message.String(), "quickstart: interrupted\n") {
		t.Errorf("exit code %d, want 1 and a word about it:\n%s", code, message.String())
	}
	if names := tables(t, url); names != "" {
		t.Errorf("tables are left behind: %s", names)
	}
}

type writerFunc func(p []byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }
