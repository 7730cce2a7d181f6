// Package outbox writes events in the same transaction as the business change that they tell of.
//
// An event exists if and only if its transaction committed: [Outbox.Write] takes a transaction, never a bare database
// handle, and refuses one that has silently ended. A relay (package relay) hands it on after the commit, at least once,
// or it becomes a dead letter that [Outbox.DeadLetters] shows and [Outbox.Requeue] puts back. The tables are made by
// package migrations; everything behaves the same on PostgreSQL, MySQL, MariaDB and SQLite.
//
// With [Options.Feed] what was published and is kept is a log with numbers, the [Feed], which anybody reads at their own pace.
//
// On the other side of a broker, an [Inbox] lets a consumer with a database of its own handle each message once.
//
// All times are by the database's clock, to the millisecond.
//
// # Restoring a dump
//
// On PostgreSQL INSERTs that name their seq leave the sequence behind the rows. The other engines move theirs past the rows that
// are inserted, but, like PostgreSQL's, it knows nothing of numbers that other tables alone remember: those of events that are
// purged by now. Until the numbering is mended, [Outbox.Check] (and with it the start of a relay) answers [ErrSequenceBehind] with
// the statement to run; a Write that meets a taken number fails with the same error.
//
// # Transactions that fit
//
// *sql.Tx and *sqlx.Tx as they are; of gorm tx.Statement.ConnPool.(outbox.Tx); of bun the *sql.Tx inside (tx.Tx), since
// bun.Tx itself rewrites placeholders; of sqlc what its Queries were made with; a native pgx.Tx through postgres.WrapTx.
package outbox
