// Package dialect is the contract between the outbox and a database engine.
//
// Nearly all SQL of this module is shared: it stands once, written with "?" placeholders, and runs on every engine.
// A Dialect supplies only what truly differs: fragments that are spliced into the shared statements (the clock, the
// row lock, the duplicate clause), how a transaction of the library's own is begun, how a host's transaction is
// probed, and what a driver's error means. dialect/postgres, dialect/mysql and dialect/sqlite fulfil it; conformance
// holds a new one to the same rules.
//
// A Dialect has no state that an answer depends on: every method may be called from many goroutines at once, and must
// always give the same answer. Fragments are read once, when an Outbox or a Relay is made.
//
// KeyRanges, RowFilter, KeyLocker, TxGuard and SeqBelower are what a Dialect may have besides, and the library asks the value
// that it was given for them. PostgreSQL has KeyRanges, RowFilter, KeyLocker and SeqBelower; MySQL has TxGuard and SeqBelower;
// SQLite has KeyRanges and SeqBelower. A wrapper that embeds the interface Dialect hides what the wrapped value has: it must hand
// each of them through, as examples/customdialect does, or the start-up check overlooks a numbering that is behind, and
// statements are slower.
package dialect

import (
	"context"
	"database/sql"
)

// Dialect is what an engine fulfils.
type Dialect interface {
	// Name is the engine family, lower case, as in error messages and as the folder of its migrations: "postgres",
	// "mysql" (MariaDB too) or "sqlite". A wrapper round one of them keeps its name. Any other name means an engine that
	// package migrations knows nothing of: Up, Check and SQL refuse it, and the tables are made by other means. Options
	// that name a Schema are for "postgres" alone.
	Name() string

	// Bind rewrites "?" placeholders into the engine's own ("$1", "$2", …), or returns query as it is. Shared
	// statements hold no "?" in literals or comments.
	Bind(query string) string

	// Clock is an SQL expression of the database's time in milliseconds since 1970 UTC, a BIGINT. It must not depend
	// on the session's time zone, must not go back when summer time ends, and must be taken no earlier than the start
	// of the statement it stands in; a transaction's start time will not do. The library locks a row first and reads
	// the clock in the next statement, so a value frozen at the statement's start is good enough.
	Clock() string

	// Lock is appended to a SELECT in a library transaction so that its rows stay locked until the end, waiting for
	// others' locks: " FOR UPDATE". It is empty where Begin already excludes every other writer.
	Lock() string

	// LockSkip is Lock, but rows that another transaction has locked are left out of the result instead of waited
	// for: " FOR UPDATE SKIP LOCKED". It is empty where Lock is.
	LockSkip() string

	// IgnoreDuplicate is appended to an INSERT so that a row whose unique column is taken is left out, while any
	// other fault, a taken number of the row (KeyTaken) among them, stays an error and the transaction stays usable.
	// Where it can't name the column, the engine's numbering must be one that never collides (see SeqBehind).
	IgnoreDuplicate(column string) string

	// CountFirst is appended to an INSERT of one row, so that the driver reports exactly one affected row if it was
	// inserted, and any other number if its key, the unique columns given as "a, b", is taken, whatever the connection is
	// set to count. Any other fault stays an error and the transaction stays usable. The INSERT waits for another
	// transaction that has the key and is still open. It may change the row that is there, in its version column, a BIGINT,
	// alone.
	CountFirst(key, version string) string

	// IndexHint stands after a table's name in a FROM clause and asks for the named index, or is empty where the
	// planner needs no help.
	IndexHint(index string) string

	// UpdateByKey is how an UPDATE of table begins, up to SET, and DeleteByKey how a DELETE from it begins, up to WHERE,
	// when its rows are to be reached by primary key alone. "UPDATE table" and "DELETE FROM table" will do where the
	// planner always chooses the key. On MySQL and MariaDB it may read all of a small table, and then waits for rows that
	// the host's open transactions have inserted. What UpdateByKey says behind "UPDATE table" stands behind the table's
	// name in a SELECT, too, that locks rows by key.
	UpdateByKey(table string) string
	DeleteByKey(table string) string

	// Begin starts a short transaction of the library's own on one connection of db: READ COMMITTED where the engine
	// has levels, and holding the write lock from the start where there is one writer (SQLite's BEGIN IMMEDIATE), so
	// that it can't fail later for having read first. An engine without index hints may choose planner settings here,
	// for this transaction alone. The caller ends it with Commit or Rollback exactly once, and then its connection is
	// free again.
	Begin(ctx context.Context, db *sql.DB) (Tx, error)

	// InTransaction tells whether the host's transaction behind e is still open on its connection, without ending or
	// changing it. It exists because a deadlock (MySQL, MariaDB) or an interrupted statement (SQLite) ends a
	// transaction while *sql.Tx still believes in it. An engine whose aborted transaction refuses further statements
	// (PostgreSQL) answers true without asking.
	InTransaction(ctx context.Context, e Execer) (bool, error)

	// Classify says what a driver's error means to the library. It looks at codes, never at message texts, and sees
	// through wrapping. A nil error is Other.
	Classify(err error) Class

	// Check looks at the server behind db once at start-up and answers with an error that says what to do: engine of
	// another kind, too old for SKIP LOCKED, read-only, a private :memory: database for each connection, an encoding that
	// lacks characters, sessions that read what is not committed. It leaves the database as it was.
	Check(ctx context.Context, db *sql.DB) error

	// SeqBehind looks whether the next row of table would get a seq no higher than that of a row which is there, and
	// answers with the statement that mends it, or with "" if all is well or the session may not look. That comes about
	// where numbers are given by a sequence that knows nothing of the rows, as on PostgreSQL after a restore whose
	// INSERTs named their seq. An engine that moves its numbering past every row that is inserted answers "" without
	// asking. It is called at start-up, when the tables are known to be there, while others write and commit: they must
	// not look like a numbering that is behind.
	SeqBehind(ctx context.Context, db *sql.DB, table string) (mend string, err error)
}

// KeyRanges is what a Dialect may have besides. ChangesRangesAlone reports whether an UPDATE or DELETE of a range of the
// primary key waits for no row beside it, so that many rows that follow each other need not be named one by one. InnoDB
// locks the next row too, which may be one that an open transaction of the host has inserted.
type KeyRanges interface {
	ChangesRangesAlone() bool
}

// RowFilter is what a Dialect may have besides. FiltersRows reports whether the engine reads the row itself for a condition on
// an index's later columns that is no range of them, so that looks for several ranges, joined by UNION ALL in one statement,
// are quicker than a list.
type RowFilter interface {
	FiltersRows() bool
}

// KeyLocker is what a Dialect may have besides where transactions stricter than READ COMMITTED see a snapshot from before they
// waited, and refuse to lock a row that has changed since. LockKey, appended to a SELECT, locks a row in them so that it is not
// deleted, and its other columns may be changed.
type KeyLocker interface {
	LockKey() string
}

// TxGuard is what a Dialect may have besides where InTransaction has to ask: an INSERT in the host's transaction then sees to it
// by itself that this is open, and a round trip is saved.
type TxGuard interface {
	// HasGuard tells whether Guard may stand for InTransaction on the server and in the sessions behind e, an open
	// transaction of the host, which stays as it was. The answer is remembered.
	HasGuard(ctx context.Context, e Execer) (bool, error)

	// Guard is an SQL expression. Inside of a transaction its value is that of the expression it is given, a placeholder
	// among them. Outside of one its statement fails as a whole, in every mode of the session, with an error for which
	// OutsideTx is true. Where it can't be sure, it fails too.
	Guard(value string) string
	OutsideTx(err error) bool
}

// SeqBelower is what a Dialect fulfils besides where its numbering can fall behind what is remembered: numbers of rows that
// are no longer there, but stand in other tables, which a copy has and the numbering has not. Where it can't, leave it out.
type SeqBelower interface {
	// SeqBelow is SeqBehind with a floor: it looks whether the next row of table would get a seq no higher than floor, or
	// than that of a row which is there, and answers with the statement that mends it, or with "" if all is well or the
	// session may not look. Numbers up to floor were given before the call; others write and commit meanwhile. A floor of
	// 0 is none.
	SeqBelow(ctx context.Context, db *sql.DB, table string, floor int64) (mend string, err error)
}

// Execer runs one statement; a host's transaction is seen through it.
type Execer interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

// Tx is a transaction of the library's own. *sql.Tx fits. It is used by one goroutine at a time.
type Tx interface {
	Execer
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	Commit() error
	Rollback() error
}

// Class is what an error means to the library.
type Class int

const (
	// Other is any error without a meaning below: it is shown to the caller as it is.
	Other Class = iota
	// Duplicate: a unique column other than the primary key already holds the value. Write tells the host that its
	// event is there already, so no other fault may be called this.
	Duplicate
	// KeyTaken: the primary key already holds the value. No writer gives a seq, so the engine's numbering is behind (see
	// SeqBehind). Where the engine's codes don't tell it from Duplicate (MySQL, MariaDB) it is Duplicate, and the
	// numbering must be one that never collides.
	KeyTaken
	// Conflict: a deadlock, a serialization failure, a lock or statement time-out, a busy database. Nothing of the
	// transaction stays once it is rolled back, and the whole of it may be run again.
	Conflict
	// Disconnected: the connection is lost, refused or not to be had. What was under way may have happened.
	Disconnected
	// ReadOnly: the server takes no writes now, as a replica or during a failover.
	ReadOnly
	// SchemaMissing: a table, column or index of ours does not exist. SQLite has no code for it: there it is Other.
	SchemaMissing
	// Aborted: a statement of the transaction had failed before, and so the engine refuses this one, or has rolled all of it
	// back in place of COMMIT (PostgreSQL). Nothing of the transaction stays.
	Aborted
)

// Retryable reports whether the library's own transactions are run again after an error of this class.
func (c Class) Retryable() bool { return c == Conflict || c == Disconnected || c == ReadOnly }

// String is the class in words, for messages and logs.
func (c Class) String() string {
	switch c {
	case Duplicate:
		return "duplicate"
	case KeyTaken:
		return "key taken"
	case Conflict:
		return "conflict"
	case Disconnected:
		return "disconnected"
	case ReadOnly:
		return "read-only"
	case SchemaMissing:
		return "schema missing"
	case Aborted:
		return "aborted"
	default:
		return "other"
	}
}
