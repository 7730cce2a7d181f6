package engines

import (
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"

	driver "github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5"
)

// withDatabase returns the URL of another database on the same server.
func withDatabase(address, name string) (string, error) {
	u, err := url.Parse(address)
	if err != nil {
		return "", fmt.Errorf("parse address: %w", err)
	}
	u.Path = "/" + name
	return u.String(), nil
}

func portOf(address string) int {
	u, err := url.Parse(address)
	if err != nil {
		return 0
	}
	port, _ := strconv.Atoi(u.Port())
	return port
}

// adminURL is the superuser's address of a server that runs on this machine.
func (p product) adminURL(port int) string {
	return fmt.Sprintf(p.address, port)
}

// parseAddress takes what a person puts into a variable, a URL or a driver's DSN, and returns a URL.
func (p product) parseAddress(dsn string) (string, error) {
	if scheme, _, ok := strings.Cut(dsn, "://"); ok {
		switch {
		case scheme == p.name, scheme == "postgresql" && p.name == "postgres":
			_, rest, _ := strings.Cut(dsn, "://")
			return p.name + "://" + rest, nil
		}
		return "", fmt.Errorf("%s:// is not an address of %s", scheme, p.name)
	}
	if p.name == "postgres" {
		return postgresURL(dsn)
	}
	return p.mysqlURL(dsn)
}

// postgresURL turns "host=… user=…" into a URL.
func postgresURL(dsn string) (string, error) {
	cfg, err := pgx.ParseConfig(dsn)
	if err != nil {
		return "", err // pgx leaves the password out of it
	}
	u := url.URL{
		Scheme:   "postgres",
		User:     userinfo(cfg.User, cfg.Password),
		Host:     net.JoinHostPort(cfg.Host, strconv.Itoa(int(cfg.Port))),
		Path:     "/" + cfg.Database,
		RawQuery: "sslmode=disable",
	}
	if cfg.TLSConfig != nil {
		u.RawQuery = "sslmode=require"
	}
	return u.String(), nil
}

// mysqlURL turns "user:password@tcp(host:port)/?param=value" into a URL.
func (p product) mysqlURL(dsn string) (string, error) {
	cfg, err := driver.ParseDSN(dsn)
	if err != nil {
		return "", err
	}
	if cfg.Net != "tcp" {
		return "", fmt.Errorf("address over %s: only tcp is supported", cfg.Net)
	}
	_, params, _ := strings.Cut(dsn[strings.LastIndex(dsn, "/")+1:], "?")
	u := url.URL{Scheme: p.name, User: userinfo(cfg.User, cfg.Passwd), Host: cfg.Addr, Path: "/", RawQuery: params}
	return u.String(), nil
}

func userinfo(user, password string) *url.Userinfo {
	if password == "" {
		return url.User(user)
	}
	return url.UserPassword(user, password)
}
