// Package feedhttp serves an outbox's feed over HTTP: every published event once, in the order of the feed, to readers who
// keep their own position. What a reader has not been given comes next; what is purged is said to be, and never left out in
// silence.
//
// A [Handler] answers GET at whatever path it is mounted on. The Accept header chooses:
//
//   - application/cloudevents-batch+json, the default: a page, a batch of CloudEvents 1.0 in JSON
//   - application/json: the same page as {"events":[…],"next":"…"}
//   - text/event-stream: what is there and what comes, as server-sent events: a CloudEvent each as data, its cursor as id
//
// # Asking
//
//	GET /events?after=1766000000000-42&limit=100&topic=orders.*&topic=users.left
//
// after is an exclusive position: a cursor that the feed has given, "oldest", "head", or none for the very beginning, which
// is gone once anything is purged. limit is for pages, up to Options.MaxPage. topic is a topic's name, a prefix with ".*"
// behind it, or "*"; several are joined by or.
//
// A page says where the next one begins, in [NextHeader] and as a Link with rel="next". A filtered page may be empty and
// move on all the same; a reader is at the head when the cursor is the one that it asked with. Then it waits and asks again.
//
// A stream goes on after the Last-Event-ID header, which browsers' EventSource sends by itself, or else after. Blocks that
// have an id and no data tell how far a filtered stream has come; comments are heartbeats. It ends after Options.MaxAge, or
// when the server does, and the client comes back. Where it can't go on, an event named "problem" says why, as below.
//
// # Events
//
// An event's id, topic, key and time of publication are the CloudEvents attributes id, type, subject and time; source is
// Options.Source. The header "content-type" becomes datacontenttype: application/json goes along as data, text as a string, all
// else as data_base64, byte for byte. Without that header an object or an array is taken for JSON. Extension attributes are cursor, the position
// behind the event, and sequence, its number as a text that sorts; Options.Extensions adds more.
//
// Delivery is at least once: a reader that ends between handling an event and noting its cursor gets it again, with the
// same id.
//
// # Answers that are no events
//
// They are application/problem+json (RFC 9457), with a code for programs:
//
//	400 cursor, limit, topic, parameter, query   the request is wrong, and detail says what to do
//	400 ahead      the position is beyond the head; with head and oldest
//	401 unauthenticated, 403 forbidden           Options.Authorize has refused
//	404 no-feed    nothing has turned the feed on yet: the first relay with it does, a webhook.Create, a Feed.BackFill
//	405 method, 406 accept
//	409 epoch      the feed was restored from a backup since (outbox.Feed.NewEpoch); with head and oldest
//	410 gone       what comes next is purged; with oldest, to go on from
//	500 internal   see Options.Logger
//	503 away, pages                              try again after Retry-After
//
// A stream's 503 (away, streams, ending) is an event "problem" in a stream of status 200, which then ends: a browser's
// EventSource comes back after a stream's end, in the time that the stream has named, and gives up for good on any other
// status. So it does on the answers above, where it is right, and on a proxy's 502 or 503 while no server is up, as in a
// restart: when its error event finds readyState CLOSED, make a new EventSource after some seconds, with after set to the
// last event's cursor (its lastEventId).
//
// # In a server
//
// Options.Authorize is required. Set http.Server.ConnContext to [ConnContext], so that a client that is slow is told from one
// that takes nothing. Streams outlive http.Server.WriteTimeout, and http.Server.Shutdown waits for them: register
// [Handler.EndStreams]. Middleware must let http.ResponseController through (an Unwrap method), as streams need flushes and
// deadlines. Readers in browsers of other origins need CORS headers, which are the host's; EventSource sends cookies but no
// Authorization header.
package feedhttp
