// Quickstart shows on real events what the outbox guarantees, with no server needed:
//
//	go run ./examples/quickstart
//
// It writes a business row and an event in one transaction, again and again, and rolls every seventh back on purpose.
// Two relay processes hand the events to a receiver over HTTP. Half-way the one at work is killed with SIGKILL. At the
// end the database and the receiver are compared: the exit code is 0 if nothing was lost, nothing invented and the
// order kept, 1 if not, and 2 for input that can't be used.
//
// To read it, begin with demo.go, which tells the story in order. write.go and relay.go are what a program of your own
// would hold; the rest is there to watch.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	// The relays are this same program, started by itself.
	if config := os.Getenv(relayEnv); config != "" {
		os.Exit(relayMain(config, os.Stdin, os.Stdout, os.Stderr))
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// config is what the flags say.
type config struct {
	db string // URL; empty: SQLite in a temporary directory
	in string // file of events; empty: the built-in ones; "-": standard input
	n  int    // how many events to write
}

// errUsage is a fault of whoever called, and exit code 2.
var errUsage = errors.New("bad input")

func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	cfg, err := parseFlags(args, stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return 2 // the flag package has said why
	}
	report, err := prepareAndRun(ctx, cfg, stdin, newScreen(stderr))
	switch {
	case errors.Is(err, errUsage):
		fmt.Fprintln(stderr, "quickstart:", err)
		return 2
	case ctx.Err() != nil:
		fmt.Fprintln(stderr, "quickstart: interrupted")
		return 1
	case err != nil:
		fmt.Fprintln(stderr, "quickstart:", err)
		return 1
	}
	report.print(stdout)
	if !report.ok() {
		return 1
	}
	return 0
}

func prepareAndRun(ctx context.Context, cfg config, stdin io.Reader, s *screen) (*report, error) {
	events, err := loadEvents(cfg.in, stdin, cfg.n)
	if err != nil {
		return nil, err
	}
	return demo(ctx, cfg, events, s)
}

func parseFlags(args []string, stderr io.Writer) (config, error) {
	var cfg config
	flags := flag.NewFlagSet("quickstart", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&cfg.db, "db", "", "database `URL`: postgres://… mysql://… mariadb://… sqlite:FILE\n(default: SQLite in a temporary directory)")
	flags.StringVar(&cfg.in, "in", "", "`FILE` of events, one JSON object a line: topic, key, payload; - is standard input\n(default: built-in events of GitHub)")
	flags.IntVar(&cfg.n, "n", 2000, "how many events to write; a shorter file is read again from its start")
	if err := flags.Parse(args); err != nil {
		return cfg, err
	}
	var err error
	switch {
	case flags.NArg() > 0:
		err = fmt.Errorf("unexpected argument %q", flags.Arg(0))
	case cfg.n < 1:
		err = fmt.Errorf("-n %d: must be at least 1", cfg.n)
	}
	if err != nil {
		fmt.Fprintln(stderr, "quickstart:", err)
	}
	return cfg, err
}
