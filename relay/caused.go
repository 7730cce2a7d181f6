package relay

import (
	"maps"
	"strconv"

	"github.com/sqloutbox/sqloutbox/outbox"
)

// Headers of events that were caused by events.
const (
	CorrelationHeader = "correlation-id" // of the first event of the chain, unless that brought one of its own
	CausationHeader   = "causation-id"   // of the event before
	HopsHeader        = "sqloutbox-hops" // how many there were before: what MaxHops bounds
)

// Caused is e with the headers that tell that m caused it: m's correlation id is carried on. A handler writes it in its own
// transaction, so that it is there if and only if the handler's effects are:
//
//	box.Write(ctx, tx, relay.Caused(m, outbox.Event{Topic: "invoice.due", …}))
//
// Handlers gives up an event after HandlersOptions.MaxHops, so that a handler which writes into a topic of its own comes
// to an end.
func Caused(m Message, e outbox.Event) outbox.Event {
	headers := maps.Clone(e.Headers)
	if headers == nil {
		headers = make(map[string]string, 3)
	}
	correlation := m.Headers[CorrelationHeader]
	if correlation == "" {
		correlation = m.ID
	}
	headers[CorrelationHeader] = correlation
	headers[CausationHeader] = m.ID
	headers[HopsHeader] = strconv.Itoa(hopsOf(m) + 1)
	e.Headers = headers
	return e
}

// hopsOf is how many events caused this one, one after another.
func hopsOf(m Message) int {
	hops, err := strconv.Atoi(m.Headers[HopsHeader])
	if err != nil {
		return 0
	}
	return hops
}
