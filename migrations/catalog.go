package migrations

import (
	"context"
	"database/sql"
	"fmt"
)

// catalog is how an engine is asked for a table's columns and indexes. Both questions take the table's name as SQL
// would, and answer with no row where it doesn't exist.
type catalog struct {
	// columns: one row a column, its name.
	columns string
	// indexes: one row a column of an index, in order: the index's name, whether it is unique, the column's name.
	// Indexes on a part of the rows are left out.
	indexes string
}

func catalogOf(engine string) catalog {
	switch engine {
	case "postgres": // to_regclass follows the search path, as the library's statements do
		return catalog{
			columns: `
SELECT a.attname
  FROM pg_attribute a
 WHERE a.attrelid = to_regclass(?)
   AND a.attnum > 0
   AND NOT a.attisdropped`,
			indexes: `
SELECT i.relname, x.indisunique, a.attname
  FROM pg_index x
  JOIN pg_class i ON i.oid = x.indexrelid
  JOIN pg_attribute a ON a.attrelid = i.oid
 WHERE x.indrelid = to_regclass(?)
   AND x.indisvalid
   AND x.indpred IS NULL
 ORDER BY i.relname, a.attnum`,
		}
	case "mysql":
		return catalog{
			columns: `
SELECT column_name
  FROM information_schema.columns
 WHERE table_schema = DATABASE()
   AND table_name = ?`,
			indexes: `
SELECT index_name, non_unique = 0, column_name
  FROM information_schema.statistics
 WHERE table_schema = DATABASE()
   AND table_name = ?
 ORDER BY index_name, seq_in_index`,
		}
	default:
		return catalog{
			columns: `SELECT name FROM pragma_table_info(?)`,
			indexes: `
SELECT l.name, l."unique", i.name
  FROM pragma_index_list(?) l
  JOIN pragma_index_info(l.name) i
 WHERE l.partial = 0
 ORDER BY l.name, i.seqno`,
		}
	}
}

// index is what the catalog says of one.
type index struct {
	name    string
	unique  bool
	columns []string
}

func (m *migrator) exists(ctx context.Context, table string) (bool, error) {
	columns, err := m.columns(ctx, table)
	return len(columns) > 0, err
}

func (m *migrator) columns(ctx context.Context, table string) ([]string, error) {
	var columns []string
	err := m.query(ctx, catalogOf(m.d.Name()).columns, table, func(rows *sql.Rows) error {
		var name string
		err := rows.Scan(&name)
		columns = append(columns, name)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("look up table %s: %w", m.names.table(table), err)
	}
	return columns, nil
}

func (m *migrator) indexes(ctx context.Context, table string) ([]index, error) {
	var indexes []index
	err := m.query(ctx, catalogOf(m.d.Name()).indexes, table, func(rows *sql.Rows) error {
		var name string
		var unique bool
		var column sql.NullString // NULL for an expression
		if err := rows.Scan(&name, &unique, &column); err != nil {
			return err
		}
		if len(indexes) == 0 || indexes[len(indexes)-1].name != name {
			indexes = append(indexes, index{name: name, unique: unique})
		}
		last := &indexes[len(indexes)-1]
		last.columns = append(last.columns, column.String)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("look up the indexes of %s: %w", m.names.table(table), err)
	}
	return indexes, nil
}

func (m *migrator) query(ctx context.Context, question, table string, each func(*sql.Rows) error) error {
	rows, err := m.db.QueryContext(ctx, m.d.Bind(question), m.names.table(table))
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := each(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}
