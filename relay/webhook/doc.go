// Package webhook pushes published events to subscribers over HTTP, as Standard Webhooks 1.0 asks.
//
// Each subscription has one delivery of each event that is published while it is there and has one of its topics: it is made
// in the transaction that publishes the event, so that none is missed or doubled. It is sent until the endpoint has taken it, or
// until Options.Schedule is at its end: then it is dead, and can be sent again. So an endpoint gets an event at least once; the
// header Webhook-Id is the event's id and the same each time, and outbox.Inbox or a Verifier tells what was there before.
//
// It needs outbox.Options.Feed, and a relay that runs, made from the same outbox: what that publishes is what is pushed. Where there
// is no broker besides, its publisher does nothing and answers nil. Give it the Webhooks as an observer and what it
// publishes goes out at once; in other processes at the next Poll. Any number of processes may have workers (Run): a delivery is
// claimed by one, with a lease by the database's clock, and what comes of it is recorded only if it still is that one's. A
// worker that was killed costs a lease, Options.Lease, and sends what it had claimed once more; its tries are not counted.
//
// # Order
//
// An ordered subscription is sent one event after the other, in the order of the feed, the next one when the one before it is
// done or dead: one that fails holds the rest up. The others have up to Options.Parallel requests under way. Each works for
// itself: an endpoint that is slow or down slows no other one. One whose every try fails is tried one by one, with pauses.
//
// # Safety
//
// URLs are strangers' wishes. The address that is dialled is checked after the name was resolved: loopback, private and
// link-local networks, metadata services and what is nobody's are refused, in IPv6's clothes too. Redirects are not followed,
// proxies of the environment not used, answers not read past a bound, and https is required. Options.AllowPrivate and AllowHTTP
// are for tests and inner networks. Secrets and the values of headers are in the subscription's row, as they are: whoever can
// read the database can sign. They are never listed or logged.
//
// The requests are signed with Webhook-Id, Webhook-Timestamp and the body. Webhook-Topic and Webhook-Position, the event's topic and
// its position in the feed, stand beside them and are not.
//
// # Keeping
//
// A delivery that is pending keeps its event from being purged; one that is dead does not, nor one of a subscription that has
// been paused or disabled for longer than Options.PausedHold. Deliveries are deleted when they have been done for Retention or dead for
// DeadRetention.
//
// # Answers
//
// What comes of a try, and what follows:
//
//	2xx, read to its end                | done
//	3xx                                 | retried: redirects are not followed
//	410                                 | dead, and the subscription is disabled
//	429, 502, 503, 504                  | retried; Retry-After, up to 24 h, is kept to by the whole subscription
//	other 4xx and 5xx, 101              | retried
//	name not found                      | retried
//	address refused by the guard        | retried
//	connection refused                  | retried
//	connection reset                    | retried
//	TLS error, none in half of Timeout  | retried
//	no connection in half of Timeout    | retried
//	no complete answer within Timeout   | retried
//	endless answer                      | retried
//	body longer than MaxAnswer          | retried
//
// Retried means: on Schedule, and dead after the last try of it. A 2xx whose body is too long or has no end is no success,
// since what was not read to its end may be anything: a proxy's page, or a download at a mistaken URL.
package webhook
