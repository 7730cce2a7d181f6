// Package relay hands committed events on to a [Publisher], at least once, in the order that was asked for.
//
// A committed event is published, or is a dead letter that an operator can see and put back; there is no third
// outcome, whatever is killed, cut off or slow. Start as many relays as you like, in as many processes: in [OrderTotal]
// one works, behind a lease timed by the database's clock, and the others stand by; in [OrderNone] all share the work.
// What a relay has in hand is noted in the database before it is handed over, so that an event which ends its process
// is found out and given up after exactly [Options.MaxAttempts], and its neighbours are charged nothing.
//
// A publisher answers nil, or an error that may be marked: [Permanent], [RetryAfter], [Unavailable]. It must expect to see
// an event again: after a crash, a lost connection or a lost lease, what was in hand (two batches at most) is handed over
// once more. The event's id stays the same.
//
// Set [Options.Logger] or [Options.Observers] to see what goes on; by default a relay is silent.
package relay
