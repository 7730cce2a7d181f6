package mysql_test

import (
	"context"
	"database/sql/driver"
	"net"
	"testing"

	mysqldriver "github.com/go-sql-driver/mysql"

	"github.com/sqloutbox/sqloutbox/dialect"
	"github.com/sqloutbox/sqloutbox/dialect/mysql"
)

// The numbers that a test can't bring about; dialect/classify_test.go has those that it can.
func TestClassOfEachErrorNumber(t *testing.T) {
	want := map[dialect.Class][]uint16{
		dialect.Duplicate:     {1062},
		dialect.Conflict:      {1213, 1205, 1020, 1317, 1969, 3024, 3101},
		dialect.Disconnected:  {1040, 1042, 1043, 1047, 1053, 1203, 1927, 2006, 2013, 3169, 4031},
		dialect.ReadOnly:      {1290, 1792, 1836, 1874, 3100, 3989},
		dialect.SchemaMissing: {1146, 1054, 1176},
		dialect.Other:         {0, 1045, 1048, 1049, 1064, 1142, 1364, 1406, 1568, 3819},
	}
	for class, numbers := range want {
		for _, number := range numbers {
			if got := mysql.New().Classify(&mysqldriver.MySQLError{Number: number}); got != class {
				t.Errorf("%d: %v, want %v", number, got, class)
			}
		}
	}
	for _, err := range []error{mysqldriver.ErrInvalidConn, driver.ErrBadConn} {
		if got := mysql.New().Classify(err); got != dialect.Disconnected {
			t.Errorf("%v: %v, want disconnected", err, got)
		}
	}
}

// The DSN's timeout ends a dial by a context of the driver's own, while the caller's goes on.
func TestADialThatTakesTooLongIsDisconnected(t *testing.T) {
	mysqldriver.RegisterDialContext("late", func(ctx context.Context, _ string) (net.Conn, error) {
		<-ctx.Done()
		return new(net.Dialer).DialContext(ctx, "tcp", "127.0.0.1:1")
	})
	db, err := mysql.Open("root@late(nowhere)/test?timeout=10ms")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.PingContext(t.Context()); mysql.New().Classify(err) != dialect.Disconnected {
		t.Errorf("%v is of class %v", err, mysql.New().Classify(err))
	}
}
