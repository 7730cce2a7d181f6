package engines

import (
	"strings"
	"testing"
)

func TestAVariableTakesAURLOrADriversDSN(t *testing.T) {
	for _, c := range []struct {
		product product
		in      string
		want    string
	}{
		{postgres(), "postgres://u:p@db:5433/x?sslmode=disable", "postgres://u:p@db:5433/x?sslmode=disable"},
		{postgres(), "postgresql://u@db/x", "postgres://u@db/x"},
		{postgres(), "host=db port=5433 user=u password=p@ss dbname=x sslmode=disable",
			"postgres://u:p%40ss@db:5433/x?sslmode=disable"},
		{mysql(), "mysql://root@127.0.0.1:3306/x", "mysql://root@127.0.0.1:3306/x"},
		{mysql(), "root:p/w@tcp(127.0.0.1:3306)/x?tls=true", "mysql://root:p%2Fw@127.0.0.1:3306/?tls=true"},
		{mariadb(), "root@tcp(db)/", "mariadb://root@db:3306/"},
	} {
		got, err := c.product.parseAddress(c.in)
		if err != nil || got != c.want {
			t.Errorf("%s: %q: got %q, %v, want %q", c.product.name, c.in, got, err, c.want)
		}
	}
}

func TestAVariableRefusesAnotherEnginesAddress(t *testing.T) {
	for _, c := range []struct {
		product product
		in      string
	}{
		{postgres(), "mysql://root@127.0.0.1/"},
		{mysql(), "mariadb://root@127.0.0.1/"},
		{mysql(), "root@unix(/run/mysqld.sock)/"},
	} {
		if got, err := c.product.parseAddress(c.in); err == nil {
			t.Errorf("%s: %q: got %q, want an error", c.product.name, c.in, got)
		}
	}
}

// A server that is not the product that the variable names would make two engines of one.
func TestAVariableRefusesAnotherEnginesServer(t *testing.T) {
	need(t, "mariadb")
	maria := Get(t, "mariadb")
	t.Setenv("OUTBOX_TEST_MYSQL", strings.Replace(maria.AdminURL(), "mariadb:", "mysql:", 1))
	_, err := Up(t.Context(), "mysql", testLog{t})
	if err == nil || !strings.Contains(err.Error(), "OUTBOX_TEST_MYSQL: the server there is version") {
		t.Errorf("got %v, want an error that says so", err)
	}
}

func TestAVariableIsTriedFirst(t *testing.T) {
	need(t, "postgres")
	found := Get(t, "postgres")
	t.Setenv("OUTBOX_TEST_POSTGRES", found.AdminURL())
	e := Get(t, "postgres")
	if e.Found != "OUTBOX_TEST_POSTGRES" || e.Port != found.Port {
		t.Errorf("got port %d, found by %s, want port %d by the variable", e.Port, e.Found, found.Port)
	}
	e.NewDatabase(t)
}
