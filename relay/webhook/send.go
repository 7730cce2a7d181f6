package webhook

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/sqloutbox/sqloutbox/internal/clocks"
)

// Headers beside those of the standard. They are not signed.
const (
	HeaderTopic    = "Webhook-Topic"    // the event's topic, percent-encoded where it must be
	HeaderPosition = "Webhook-Position" // the event's position in the feed: grows by one with each event that is published
)

// passedOn are headers of an event that go into the request.
var passedOn = map[string]bool{"content-type": true, "traceparent": true, "tracestate": true}

// errPurged: there is nothing to send.
var errPurged = errors.New("the event has been purged")

// delivery is one that a lane has claimed.
type delivery struct {
	feedSeq, seq int64
	attempts     int // before this try
	claim        *claim
	event        *event // nil: it has been purged
}

// claim is what deliveries that were claimed together have in common.
type claim struct {
	id       string
	deadline clocks.Deadline // of its lease
	to       *endpointRow
	stop     atomic.Bool  // nothing more of it is to be sent
	rest     *atomic.Bool // nothing of any claim of the lane is: see lane.rest

	careful bool // every try has failed of late: one by one, with pauses, until one is done
}

// event is what is sent.
type event struct {
	id, topic string
	headers   map[string]string
	payload   []byte
	long      bool // payload is read when it is needed
}

// outcome is a delivery with what came of it; untouched: it was not sent, and is given back, to be due after j.wait.
type outcome struct {
	*delivery
	untouched bool
	a         answer
	j         judgement
}

// isOf reports whether the subscription is what it was when the request was made for it.
func (o *outcome) isOf(row *endpointRow) bool { return o.claim.to.version == row.version }

// unread is how long a delivery waits whose payload, or whose subscription, could not be read.
const unread = 2 * time.Second

// send starts what was claimed. ctx is for starting requests, sending for those that have started.
func (l *lane) send(ctx, sending context.Context, claimed []*delivery) {
	if len(claimed) == 0 {
		return
	}
	if c := claimed[0].claim; c.to.ordered || c.careful {
		l.requests.Go(func() { l.sendOneByOne(ctx, sending, claimed, c.careful) })
		return
	}
	for _, d := range claimed {
		l.requests.Go(func() {
			select {
			case l.slots <- struct{}{}:
				defer func() { <-l.slots }()
			case <-ctx.Done():
			}
			l.end(l.attempt(ctx, sending, d))
		})
	}
}

func (l *lane) sendOneByOne(ctx, sending context.Context, claimed []*delivery, careful bool) {
	for _, d := range claimed {
		if careful {
			clocks.Sleep(ctx, l.w.opts.Careful)
		}
		o := l.attempt(ctx, sending, d)
		careful = careful && (o.untouched || o.j.verdict != done)
		l.end(o)
	}
}

// attempt is one try, or none where it is too late for one.
func (l *lane) attempt(ctx, sending context.Context, d *delivery) outcome {
	c, opts := d.claim, &l.w.opts
	late := func() bool { return ctx.Err() != nil || c.stop.Load() || c.rest.Load() || c.tooLate(opts.Timeout) }
	if late() {
		return c.back(d, 0)
	}
	if d.event == nil {
		return outcome{delivery: d, a: answer{err: errPurged}, j: judgement{verdict: dead}}
	}
	body, is, err := l.prepare(sending, d)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		d.event = nil
		return outcome{delivery: d, a: answer{err: errPurged}, j: judgement{verdict: dead}}
	case sending.Err() != nil:
		return c.back(d, 0)
	case err != nil:
		l.w.log.Warn("delivery could not be read", "subscription", l.id, "position", d.feedSeq, "error", err)
		return c.back(d, unread) // nobody's fault but the database's
	case !is || late(): // reading takes its time
		return c.back(d, 0)
	}
	var a answer
	if err := opts.checkURL(c.to.url); err != nil { // the row can be older than the options
		a.err = err
	} else {
		a = l.w.client.post(sending, c.to.url, d.header(body), body)
	}
	if a.err != nil && sending.Err() != nil {
		return outcome{delivery: d, untouched: true}
	}
	j := judge(a, d.attempts+1, opts.Schedule)
	if c.to.ordered && j.verdict == again {
		c.stop.Store(true)
	}
	if j.leaveAlone() {
		c.rest.Store(true)
	}
	return outcome{delivery: d, a: a, j: j}
}

// tooLate reports whether the lease may end within d, which a request may take.
func (c *claim) tooLate(d time.Duration) bool { return c.deadline.Left() < d }

// back gives a delivery back, and all that follows it of its claim: none of them may go past it.
func (c *claim) back(d *delivery, wait time.Duration) outcome {
	c.stop.Store(true)
	return outcome{delivery: d, untouched: true, j: judgement{wait: wait}}
}

// prepare answers what to send, and then whether the subscription is still what it was claimed for.
func (l *lane) prepare(ctx context.Context, d *delivery) (body []byte, is bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, l.w.opts.Timeout)
	defer cancel()
	if body = d.event.payload; d.event.long {
		if body, err = l.w.payload(ctx, d.seq); err != nil {
			return nil, false, fmt.Errorf("read payload: %w", err)
		}
	}
	if is, err = l.current(ctx, d.claim); err != nil {
		return nil, false, fmt.Errorf("read subscription: %w", err)
	}
	return body, is, nil
}

// header is the request's.
func (d *delivery) header(body []byte) http.Header {
	h := http.Header{"User-Agent": {userAgent}}
	for name, value := range d.event.headers {
		if passedOn[strings.ToLower(name)] && isFieldValue(value) {
			h.Set(name, value)
		}
	}
	if h.Get("Content-Type") == "" {
		h.Set("Content-Type", contentType(body))
	}
	for name, value := range d.claim.to.headers {
		h.Set(name, value)
	}
	h.Set(HeaderTopic, url.PathEscape(d.event.topic))
	h.Set(HeaderPosition, strconv.FormatInt(d.feedSeq, 10))
	Sign(h, d.event.id, time.Now(), body, d.claim.to.keys...)
	return h
}

func contentType(body []byte) string {
	if json.Valid(body) {
		return "application/json"
	}
	return "application/octet-stream"
}
