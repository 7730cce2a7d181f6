// Package relay hands committed events on to a [Publisher], at least once, in the order that was asked for.
//
// A committed event is published, or is a dead letter that an operator can see and put back; there is no third
// outcome, whatever is killed, cut off or slow. Start as many relays as you like, in as many processes: in
// [OrderPerKey], the default, they share the keys among them, each owning some by a lease timed by the database's clock; in
// [OrderTotal] one works and the others stand by; in [OrderNone] every event goes by itself.
// What a relay has in hand is noted in the database before it is handed over, so that an event which ends its process
// is found out and given up after exactly [Options.MaxAttempts], and its neighbours are charged nothing.
//
// A publisher answers nil, or an error that may be marked: [Permanent], [RetryAfter], [Unavailable]. It must expect to see
// an event again: after a crash, a lost connection or a lost lease, what was in hand (two batches, or a few more beside a
// held key that has very many) is handed over once more. The event's id stays the same.
//
// Where the consumers of events are in the same program, or on the same database, [Handlers] is the publisher: each handler
// runs in a transaction of its own together with the record that it has handled the event, so that its effects happen once;
// what it refuses is recorded, what fails is tried again by itself.
//
// From an outbox with a feed (outbox.Options.Feed) a relay numbers what it publishes, in the transaction that records it, and
// makes the deliveries of webhooks there. Package feedhttp serves the feed over HTTP, package webhook sends the deliveries.
//
// Set [Options.Logger] or [Options.Observers] to see what goes on; by default a relay is silent.
package relay
