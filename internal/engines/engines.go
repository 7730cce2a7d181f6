// Package engines brings up the real databases that the tests run on.
//
// A server is looked for in this order: the address in OUTBOX_TEST_POSTGRES, OUTBOX_TEST_MYSQL or
// OUTBOX_TEST_MARIADB; programs that are installed; Docker, where it answers; Debian's packages, as root. An engine
// that cannot be had is a failure and never a skip, so a green run means every engine that Names lists.
//
// Servers outlive the process that started them. They are started once, found again by later runs and by other
// processes at the same time, started again when they have died, and stopped by Down. They listen on 127.0.0.1 alone,
// and have the settings of production, those of durability too; where their data is says Dir.
package engines

import (
	"fmt"
	"os"
	"slices"
	"strings"
)

// Engine is one database engine that is up. Its fields are for people to read.
type Engine struct {
	Name    string // one of "sqlite", "postgres", "mysql", "mariadb"
	Version string // as the engine itself reports it
	Port    int    // of the server; 0 for SQLite
	Found   string // how it was found

	admin string // URL of a superuser connection to the server; empty for SQLite
}

// Names lists the engines that this run covers: those in the ENGINES variable, separated by commas or spaces, or all
// of them, always in the order sqlite, postgres, mysql, mariadb. A name that is not known comes last, and whatever
// uses it (Up, Get, Each) fails on it: a typing error must not narrow a run in silence.
func Names() []string {
	asked := strings.FieldsFunc(os.Getenv("ENGINES"), func(r rune) bool { return r == ',' || r == ' ' })
	if len(asked) == 0 {
		return known()
	}
	var names []string
	for _, name := range slices.Concat(known(), asked) {
		if slices.Contains(asked, name) && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// AdminURL is the URL of a superuser connection to the server, or "" for SQLite, which has none.
func (e *Engine) AdminURL() string { return e.admin }

func known() []string { return []string{"sqlite", "postgres", "mysql", "mariadb"} }

func productOf(name string) (product, error) {
	if err := checkCache(); err != nil {
		return product{}, err
	}
	switch name {
	case "postgres":
		return postgres(), nil
	case "mysql":
		return mysql(), nil
	case "mariadb":
		return mariadb(), nil
	}
	return product{}, fmt.Errorf("unknown engine %q: the engines are %s", name, strings.Join(known(), ", "))
}
