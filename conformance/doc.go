// Package conformance is the definition of what this module promises, as cases that any dialect or publisher, ours or
// a stranger's, can be put through:
//
//	func TestDialect(t *testing.T) {
//		conformance.Run(t, conformance.Harness{
//			Dialect: mydialect.New(),
//			NewDatabase: func(t testing.TB) func() (*sql.DB, error) {
//				dsn := emptyDatabase(t)
//				return func() (*sql.DB, error) { return mydialect.Open(dsn) }
//			},
//		})
//	}
//
// A publisher needs no database:
//
//	func TestPublisher(t *testing.T) {
//		conformance.RunPublisher(t, conformance.PublisherHarness{New: newPublisher, Received: received})
//	}
//
// examples/ci has the first wired up, and a workflow to copy.
//
// Each case is a rule by its name. A file, or a few that begin with the same word, hold the rules of one area. After each
// case the tables are looked over for rows that no history of events could have left behind.
package conformance
