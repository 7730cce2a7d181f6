package all

import (
	"testing"

	driver "github.com/go-sql-driver/mysql"
)

func TestMySQLURLsBecomeTheDriversDSN(t *testing.T) {
	tests := []struct {
		url                           string
		user, password, net, addr, db string
	}{
		{"//root@127.0.0.1:3307/shop", "root", "", "tcp", "127.0.0.1:3307", "shop"},
		{"//root@db.example/shop", "root", "", "tcp", "db.example:3306", "shop"},
		{"//u:p%40ss%2Fw%3Ar%3Fd%25%23@h:1/db", "u", "p@ss/w:r?d%#", "tcp", "h:1", "db"},
		{"//u:(tcp)@h/db", "u", "(tcp)", "tcp", "h:3306", "db"},
		{"//user%40host:x@h/db", "user@host", "x", "tcp", "h:3306", "db"},
		{"//u@[::1]:3306/db", "u", "", "tcp", "[::1]:3306", "db"},
		{"//u@[2001:db8::1]/db", "u", "", "tcp", "[2001:db8::1]:3306", "db"},
		{"//u:p@/db?socket=/run/mysqld/mysqld.sock", "u", "p", "unix", "/run/mysqld/mysqld.sock", "db"},
		{"///db", "", "", "tcp", "127.0.0.1:3306", "db"},
		{"//h", "", "", "tcp", "h:3306", ""},
		{"//h/a%2Fb%3F", "", "", "tcp", "h:3306", "a/b?"},
	}
	for _, test := range tests {
		dsn, err := mysqlDSN(test.url)
		if err != nil {
			t.Errorf("%s: %v", test.url, err)
			continue
		}
		got, err := driver.ParseDSN(dsn)
		if err != nil {
			t.Errorf("%s: the driver refuses %s: %v", test.url, dsn, err)
			continue
		}
		if got.User != test.user || got.Passwd != test.password || got.Net != test.net || got.Addr != test.addr || got.DBName != test.db {
			t.Errorf("%s became %s: %q %q %q %q %q", test.url, dsn, got.User, got.Passwd, got.Net, got.Addr, got.DBName)
		}
	}
}

func TestMySQLURLParametersPassAsTheyAre(t *testing.T) {
	dsn, err := mysqlDSN("//u@/db?charset=utf8mb4,utf8&socket=/s&loc=Europe%2FBerlin&sql_mode=%27ANSI_QUOTES%27&timeout=5s")
	if err != nil {
		t.Fatal(err)
	}
	if want := "u@unix(/s)/db?charset=utf8mb4,utf8&loc=Europe%2FBerlin&sql_mode=%27ANSI_QUOTES%27&timeout=5s"; dsn != want {
		t.Errorf("got  %s\nwant %s", dsn, want)
	}
	if _, err := driver.ParseDSN(dsn); err != nil {
		t.Error(err)
	}
}
