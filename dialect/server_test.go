package dialect_test

import (
	"net"
	"net/url"
	"strings"
	"testing"

	"github.com/sqloutbox/sqloutbox/dialect"
)

// readOnly is the address with sessions that may not write.
func readOnly(d dialect.Dialect, address string) string {
	switch {
	case d.Name() == "postgres":
		return address + "&default_transaction_read_only=on"
	case strings.HasPrefix(address, "mysql"):
		return address + "?transaction_read_only=1"
	case strings.HasPrefix(address, "mariadb"):
		return address + "?tx_read_only=1"
	default:
		return strings.Replace(address, "sqlite:", "sqlite:file:", 1) + "?mode=ro"
	}
}

// moved is the address on another host and port.
func moved(t *testing.T, address, host string) string {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	u.Host = host
	return u.String()
}

// deadAddress is one where nothing listens.
func deadAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}
