package all

import (
	"database/sql"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"

	driver "github.com/go-sql-driver/mysql"

	"github.com/sqloutbox/sqloutbox/dialect/mysql"
)

const defaultMySQLPort = "3306"

func openMySQL(rest string) (*sql.DB, error) {
	dsn, err := mysqlDSN(rest)
	if err != nil {
		return nil, fmt.Errorf("open mysql: %w", err)
	}
	return mysql.Open(dsn)
}

// mysqlDSN makes the driver's DSN from a URL without its scheme. Parameters pass as they are written, but for socket,
// which names a unix socket in place of host and port.
func mysqlDSN(rest string) (string, error) {
	u, err := url.Parse("mysql:" + rest)
	if err != nil {
		// The error holds the whole URL, and that may hold a password.
		if parse, ok := errors.AsType[*url.Error](err); ok {
			err = parse.Err
		}
		return "", fmt.Errorf("parse the URL: %w", err)
	}
	if u.Opaque != "" || u.Fragment != "" || !strings.HasPrefix(rest, "//") {
		return "", errors.New("parse the URL: it is not of the form mysql://user:password@host:port/db?parameters")
	}
	config := driver.NewConfig()
	config.User = u.User.Username()
	config.Passwd, _ = u.User.Password()
	config.DBName = strings.TrimPrefix(u.Path, "/")
	config.Net, config.Addr = "tcp", address(u)
	if socket := u.Query().Get("socket"); socket != "" {
		if u.Host != "" {
			return "", errors.New("parse the URL: it names both a host and a socket")
		}
		config.Net, config.Addr = "unix", socket
	}
	dsn, err := format(config)
	if err != nil {
		return "", err
	}
	return dsn + paramsBut(u.RawQuery, "socket"), nil
}

// address is host:port, with what is missing filled in.
func address(u *url.URL) string {
	host, port := u.Hostname(), u.Port()
	if host == "" {
		host = "127.0.0.1"
	}
	if port == "" {
		port = defaultMySQLPort
	}
	return net.JoinHostPort(host, port)
}

// format writes the DSN and reads it back, since the driver's grammar has no escapes before the database's name: it
// can't hold a user with a colon, for one.
func format(config *driver.Config) (string, error) {
	dsn := config.FormatDSN()
	back, err := driver.ParseDSN(dsn)
	if err != nil || back.User != config.User || back.Passwd != config.Passwd || back.DBName != config.DBName ||
		back.Net != config.Net || back.Addr != config.Addr {
		return "", errors.New("the driver's DSN can't hold this user, password, host or database name: make a driver.Config and use sql.OpenDB")
	}
	return dsn, nil
}

// paramsBut is the query without one parameter, as the driver's DSN takes it.
func paramsBut(query, name string) string {
	var kept []string
	for _, pair := range strings.Split(query, "&") {
		if key, _, _ := strings.Cut(pair, "="); key != name && pair != "" {
			kept = append(kept, pair)
		}
	}
	if len(kept) == 0 {
		return ""
	}
	return "?" + strings.Join(kept, "&")
}
