package webhook

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/sqloutbox/sqloutbox/internal/plaintext"
)

const (
	maxHeaderBytes = 64 << 10 // of an answer
	userAgent      = "sqloutbox-webhook/1"
)

var (
	errTooLong  = errors.New("the answer is longer than Options.MaxAnswer")
	errRedirect = errors.New("redirects are not followed: change the subscription's URL")
)

// answer is what came of one request.
type answer struct {
	status     int           // 0: none came
	took       time.Duration // to the end of the answer
	text       string        // its first bytes, as they can be kept
	retryAfter time.Duration // what it asks for; 0: nothing
	err        error         // why it is no success, whatever the status
}

// client sends requests to endpoints that strangers have named.
type client struct {
	http    *http.Client
	timeout time.Duration // for all of a request
	limit   int64         // of an answer's body
}

// newClient bounds each step by itself besides: net/http lets a dial go on when its request's context has ended, so that a
// peer that accepts and says nothing would keep a socket of every try.
func newClient(o *Options) *client {
	connecting := o.Timeout / 2
	dialer := &net.Dialer{Timeout: connecting, KeepAlive: 30 * time.Second, Control: control(o.AllowPrivate)}
	return &client{
		timeout: o.Timeout,
		limit:   min(o.MaxAnswer, math.MaxInt64-1), // one more is read, which says that it is longer
		http: &http.Client{
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
			Transport: &http.Transport{
				Proxy:               nil, // a proxy's address is not the endpoint's: it would go past the guard
				DialContext:         dialer.DialContext,
				TLSClientConfig:     &tls.Config{RootCAs: o.RootCAs, MinVersion: tls.VersionTLS12},
				TLSHandshakeTimeout: connecting,
				ForceAttemptHTTP2:   true,
				// A connection whose peer has vanished would be used again and again, by all subscriptions of its host.
				HTTP2:                  &http.HTTP2Config{SendPingTimeout: o.Timeout / 2, PingTimeout: o.Timeout / 4},
				DisableCompression:     true, // what arrives is what is counted
				MaxResponseHeaderBytes: maxHeaderBytes,
				MaxIdleConns:           256,
				MaxIdleConnsPerHost:    o.Parallel,
				IdleConnTimeout:        time.Minute,
			},
		},
	}
}

func (c *client) close() { c.http.CloseIdleConnections() }

// post sends body, and reads the answer to its end, or as far as limits go.
func (c *client) post(ctx context.Context, address string, h http.Header, body []byte) answer {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	start := time.Now()
	a := c.exchange(ctx, address, h, body)
	a.took = time.Since(start)
	if errors.Is(a.err, context.DeadlineExceeded) && ctx.Err() != nil {
		a.err = fmt.Errorf("no complete answer within %v", c.timeout)
	}
	return a
}

func (c *client) exchange(ctx context.Context, address string, h http.Header, body []byte) (a answer) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return answer{err: withoutURL(err)}
	}
	req.Header = h
	secrets := secretValues(h)
	res, err := c.http.Do(req)
	if err != nil {
		return answer{err: secrets.hideIn(withoutURL(err))}
	}
	defer res.Body.Close()
	a.status, a.retryAfter = res.StatusCode, retryAfter(res.Header, time.Now())
	if a.status < 200 { // 101: what follows is no answer, and would be read without a time-out
		a.err = fmt.Errorf("status %d", a.status)
		return a
	}
	var kept bytes.Buffer
	n, err := io.Copy(&firstBytes{&kept, maxText + secrets.longest()}, io.LimitReader(res.Body, c.limit+1))
	a.text = plaintext.Cut(secrets.hide(kept.String(), maxText), maxText)
	switch {
	case a.status >= 300 && a.status < 400:
		a.err = errRedirect
	case a.status >= 400:
		a.err = fmt.Errorf("status %d", a.status)
	case err != nil:
		a.err = secrets.hideIn(fmt.Errorf("read answer: %w", err))
	case n > c.limit:
		a.err = errTooLong
	}
	return a
}

// withoutURL takes away what net/http puts before its errors: the URL may hold what is nobody's business.
func withoutURL(err error) error {
	if u := (*url.Error)(nil); errors.As(err, &u) {
		return u.Err
	}
	return err
}

// firstBytes keeps the first left bytes and takes the rest without keeping it.
type firstBytes struct {
	to   *bytes.Buffer
	left int
}

func (w *firstBytes) Write(p []byte) (int, error) {
	n := min(len(p), w.left)
	w.left -= n
	w.to.Write(p[:n])
	return len(p), nil
}
