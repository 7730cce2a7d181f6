// Command engines brings up, stops and lists the database servers of the tests.
//
//	engines up|down|status [engine...]
//	engines dir
//
// Without names it takes those in the ENGINES variable, or all. dir makes the directory of their data, and prints it.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/sqloutbox/sqloutbox/internal/engines"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "engines:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	if len(args) == 0 {
		return errors.New("usage: engines up|down|status [engine...], or engines dir")
	}
	names := args[1:]
	if len(names) == 0 {
		names = engines.Names()
	}
	switch args[0] {
	case "up":
		return up(ctx, names, out)
	case "down":
		return engines.Down(ctx, names...)
	case "status":
		return status(ctx, names, out)
	case "dir":
		fmt.Fprintln(out, engines.Dir())
		return os.MkdirAll(engines.Dir(), 0o755)
	}
	return fmt.Errorf("unknown command %q: the commands are up, down, status and dir", args[0])
}

// up goes on after an error, so that one run says all that is missing.
func up(ctx context.Context, names []string, out io.Writer) error {
	var errs []error
	for _, name := range names {
		begin := time.Now()
		e, err := engines.Up(ctx, name, out)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		fmt.Fprintf(out, "%s: %s is up after %.1f s (%s)\n", name, e.Version, time.Since(begin).Seconds(), e.Found)
	}
	return errors.Join(errs...)
}

func status(ctx context.Context, names []string, out io.Writer) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "ENGINE\tVERSION\tPORT\tFOUND")
	for _, name := range names {
		e, err := engines.Status(ctx, name)
		switch {
		case err != nil:
			fmt.Fprintf(table, "%s\t-\t-\t%v\n", name, err)
		case e.Port == 0:
			fmt.Fprintf(table, "%s\t%s\t-\t%s\n", name, e.Version, e.Found)
		default:
			fmt.Fprintf(table, "%s\t%s\t%d\t%s\n", name, e.Version, e.Port, e.Found)
		}
	}
	return table.Flush()
}
