package engines

import (
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"strings"
	"time"

	driver "github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib" // "pgx"
	_ "modernc.org/sqlite"             // "sqlite"
)

// open takes a URL in the package's form. One connection is enough for what is done here.
func open(address string) (*sql.DB, error) {
	db, err := openURL(address)
	if err != nil {
		return nil, fmt.Errorf("open: %w", err)
	}
	db.SetMaxOpenConns(1)
	return db, nil
}

func openURL(address string) (*sql.DB, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, err
	}
	switch u.Scheme {
	case "postgres":
		return sql.Open("pgx", address)
	case "mysql", "mariadb":
		return openMySQL(u)
	}
	return nil, fmt.Errorf("no driver for %q", u.Scheme)
}

func openMySQL(u *url.URL) (*sql.DB, error) {
	cfg, err := driver.ParseDSN("tcp(" + u.Host + ")/?" + u.RawQuery)
	if err != nil {
		return nil, err
	}
	cfg.User = u.User.Username()
	cfg.Passwd, _ = u.User.Password()
	cfg.DBName = strings.TrimPrefix(u.Path, "/")
	cfg.Logger = &driver.NopLogger{} // a refused connection is an ordinary answer while a server starts
	connector, err := driver.NewConnector(cfg)
	if err != nil {
		return nil, err
	}
	return sql.OpenDB(connector), nil
}

// probe asks the server for its version, which shows that it answers.
func probe(ctx context.Context, address string) (version string, err error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	db, err := open(address)
	if err != nil {
		return "", err
	}
	defer db.Close()
	query := "SELECT VERSION()"
	if strings.HasPrefix(address, "postgres:") {
		query = "SHOW server_version"
	}
	if err := db.QueryRowContext(ctx, query).Scan(&version); err != nil {
		return "", fmt.Errorf("connect: %w", err)
	}
	return version, nil
}
