package mysql

import (
	"context"
	"database/sql"
	"fmt"
	"regexp"
	"strconv"
)

// SeqBehind need not ask: InnoDB moves AUTO_INCREMENT past every number that a statement gives to a row, in an INSERT or
// an UPDATE, and keeps it over a restart. (MySQL manual, 17.6.1.6 "AUTO_INCREMENT Handling in InnoDB", since 8.0;
// MariaDB, "AUTO_INCREMENT Handling in InnoDB", since 10.2.4.)
func (mysql) SeqBehind(context.Context, *sql.DB, string) (string, error) { return "", nil }

// nextNumber is in the last line of SHOW CREATE TABLE, which has it only where it is above 1.
var nextNumber = regexp.MustCompile(`(?m)^\) ENGINE=\w+(?: AUTO_INCREMENT=(\d+))?`)

// SeqBelow reads the table's AUTO_INCREMENT from SHOW CREATE TABLE, which tells it as it is now; information_schema has it
// a day old (information_schema_stats_expiry). ALTER TABLE never sets it below what the rows have. A session whose sql_mode
// leaves table options out is told that all is well. (MySQL manual, 15.1.9 "ALTER TABLE Statement".)
func (mysql) SeqBelow(ctx context.Context, db *sql.DB, table string, floor int64) (mend string, err error) {
	if floor <= 0 {
		return "", nil
	}
	var name, text string
	if err := db.QueryRowContext(ctx, "SHOW CREATE TABLE "+table).Scan(&name, &text); err != nil {
		return "", fmt.Errorf("ask for the AUTO_INCREMENT of %s: %w", table, err)
	}
	options := nextNumber.FindStringSubmatch(text)
	if options == nil {
		return "", nil
	}
	next := uint64(1)
	if options[1] != "" {
		if next, err = strconv.ParseUint(options[1], 10, 64); err != nil {
			return "", fmt.Errorf("read the AUTO_INCREMENT of %s: %w", table, err)
		}
	}
	if next > uint64(floor) {
		return "", nil
	}
	return fmt.Sprintf("ALTER TABLE %s AUTO_INCREMENT = %d", table, uint64(floor)+1), nil
}
