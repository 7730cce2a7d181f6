package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/sqloutbox/sqloutbox/dialect"
	"github.com/sqloutbox/sqloutbox/dialect/all"
	"github.com/sqloutbox/sqloutbox/dialect/mysql"
	"github.com/sqloutbox/sqloutbox/dialect/postgres"
	"github.com/sqloutbox/sqloutbox/dialect/sqlite"
	"github.com/sqloutbox/sqloutbox/outbox"
	"github.com/sqloutbox/sqloutbox/relay"
)

// processVariable makes this binary a relay process; it holds a processConfig as JSON.
const processVariable = "SQLOUTBOX_FLEET_RELAY"

type processConfig struct {
	Name     string
	URL      string
	Dialect  string   // in place of the URL's own
	Receiver string   // address
	Handlers []string // in place of a publisher; see handlersOf
	Attempts int      // of each handler
	Feed     bool     // the outbox has one
	Webhooks bool     // it sends what they are owed, too
	Patient  bool     // hand-overs wait for late answers
	Options  relay.Options
}

// Exit codes of a relay process.
const (
	exitGraceful = 0
	exitError    = 3 // Run returned an error
	exitCulprit  = 66
)

// processReport is the only line that a relay process prints, as its last act.
type processReport struct {
	Refused int64
	Error   string
}

// relayProcess runs one relay until SIGTERM. It ends with its parent: by Pdeathsig, and by the closed pipe where the
// thread that started it is all that ended.
func relayProcess(text string) int {
	var c processConfig
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return exitError
	}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(exitError)
	}()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	refused, err := c.run(ctx)
	report := processReport{Refused: refused}
	code := exitGraceful
	if err != nil {
		report.Error, code = err.Error(), exitError
	}
	if err := json.NewEncoder(os.Stdout).Encode(report); err != nil {
		return exitError
	}
	return code
}

func (c *processConfig) run(ctx context.Context) (refused int64, err error) {
	db, d, err := all.Open(c.URL)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if c.Dialect != "" {
		d = dialectNamed(c.Dialect)
	}
	o, err := outbox.New(db, d, &outbox.Options{Feed: c.Feed})
	if err != nil {
		return 0, err
	}
	c.Options.Logger = slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	if c.Webhooks {
		end, failed := c.startWebhooks(ctx, o)
		if failed != nil {
			return 0, failed
		}
		defer func() { err = errors.Join(err, end()) }()
	}
	destination := newPublisher(c.Name, c.Receiver, c.Patient)
	r, err := relay.New(o, destination, &c.Options)
	if len(c.Handlers) > 0 {
		r, err = handlersOf(o, destination, c)
	}
	if err != nil {
		return 0, err
	}
	err = r.Run(ctx)
	return r.Refused(), err
}

func dialectNamed(name string) dialect.Dialect {
	switch name {
	case "postgres":
		return postgres.New()
	case "mysql", "mariadb":
		return mysql.New()
	}
	return sqlite.New()
}
