package mysql

import (
	"database/sql"
	"fmt"
	"strings"

	driver "github.com/go-sql-driver/mysql"
)

// Open makes a pool from the driver's DSN ("user:password@tcp(127.0.0.1:3306)/db"). No connection is made yet.
//
// Unless the DSN says otherwise it turns interpolateParams on: the driver puts arguments into the text itself, which
// takes one round trip, where preparing, executing and closing a statement takes three. That is safe in the character
// sets where no byte of a longer character looks like a quote or a backslash; with any other named in the DSN it stays
// off. The driver sends []byte as a _binary literal, and follows NO_BACKSLASH_ESCAPES by the status flag of each answer.
//
// Everything else is left to the DSN. Worth setting there: rejectReadOnly=true, so that after a failover the pool
// drops connections to the old primary; timeout, for servers that don't answer at all.
func Open(dsn string) (*sql.DB, error) {
	config, err := driver.ParseDSN(dsn)
	if err != nil {
		return nil, fmt.Errorf("open mysql: %w", err)
	}
	given := params(dsn)
	if _, set := given["interpolateParams"]; !set {
		config.InterpolateParams = interpolationIsSafe(given)
	}
	connector, err := driver.NewConnector(config)
	if err != nil {
		return nil, fmt.Errorf("open mysql: %w", err)
	}
	return sql.OpenDB(connector), nil
}

// params are the DSN's parameters, which begin at the "?" after the last "/", as the driver reads it.
func params(dsn string) map[string]string {
	given := make(map[string]string)
	_, query, _ := strings.Cut(dsn[strings.LastIndexByte(dsn, '/')+1:], "?")
	for _, pair := range strings.Split(query, "&") {
		name, value, _ := strings.Cut(pair, "=")
		given[name] = value
	}
	return given
}

// interpolationIsSafe reports whether all character sets and the collation that the DSN names are safe to put
// arguments into text with. The driver's default is utf8mb4.
func interpolationIsSafe(given map[string]string) bool {
	for _, name := range strings.Split(given["charset"], ",") {
		if !isSafe(name) {
			return false
		}
	}
	return isSafe(given["collation"])
}

func isSafe(name string) bool {
	set, _, _ := strings.Cut(name, "_") // a collation begins with its character set
	switch set {
	case "", "utf8mb4", "utf8mb3", "utf8", "latin1", "ascii", "binary":
		return true
	}
	return false
}
