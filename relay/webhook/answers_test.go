package webhook

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"
)

// shortly is the time-out of tries that are meant to run into it.
const shortly = 200 * time.Millisecond

// endpoint is a server of one test, and what the client may do.
type endpoint struct {
	url  string
	opts Options
}

func serve(t *testing.T, h http.HandlerFunc) endpoint {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return endpoint{s.URL, Options{AllowHTTP: true, AllowPrivate: true}}
}

func status(code int, headers ...string) func(t *testing.T) endpoint {
	return func(t *testing.T) endpoint {
		return serve(t, func(w http.ResponseWriter, r *http.Request) {
			for i := 0; i < len(headers); i += 2 {
				w.Header().Set(headers[i], headers[i+1])
			}
			w.WriteHeader(code)
			fmt.Fprintf(w, "answer %d", code)
		})
	}
}

func try(t *testing.T, e endpoint) answer {
	t.Helper()
	opts := e.opts.withDefaults()
	c := newClient(&opts)
	defer c.close()
	h := http.Header{}
	Sign(h, "id", time.Now(), []byte("{}"), NewSecret())
	return c.post(t.Context(), e.url, h, []byte("{}"))
}

// line is one of the table in the package's documentation, with what brings it about.
type line struct {
	answer, follows string
	first, last     verdict // of the first try and of the last
	rest            time.Duration
	endpoints       []func(t *testing.T) endpoint
	says            string // a part of the error
}

func lines() []line {
	retried := func(answer, says string, endpoints ...func(t *testing.T) endpoint) line {
		return line{answer, "retried", again, dead, 0, endpoints, says}
	}
	redirects := retried("3xx", "redirects", status(301, "Location", "http://127.0.0.1:1/"), status(302, "Location", "/"), status(304), status(307), status(308), redirectToTrap)
	redirects.follows = "retried: redirects are not followed"
	return []line{
		{"2xx, read to its end", "done", done, done, 0, []func(t *testing.T) endpoint{status(200), status(201), status(202), status(204), status(299), longButAllowed}, ""},
		redirects,
		{"410", "dead, and the subscription is disabled", gone, gone, 0, []func(t *testing.T) endpoint{status(410)}, "status 410"},
		{
			"429, 502, 503, 504", "retried; Retry-After, up to 24 h, is kept to by the whole subscription", again, dead, 90 * time.Second,
			[]func(t *testing.T) endpoint{
				status(429, "Retry-After", "90"), status(502, "Retry-After", "90"), status(503, "Retry-After", "90"), status(504, "Retry-After", "90"),
				status(503, "Date", "Fri, 31 Dec 1999 23:59:59 GMT", "Retry-After", "Sat, 01 Jan 2000 00:01:29 GMT"),
			}, "status",
		},
		retried("other 4xx and 5xx, 101", "status", switched, status(400), status(401), status(403), status(404), status(409), status(422), status(499), status(500, "Retry-After", "90"), status(501), status(505), status(599), status(503), status(600)),
		retried("name not found", "", notFound),
		retried("address refused by the guard", ErrAddress.Error(), guarded),
		retried("connection refused", "refused", refused),
		retried("connection reset", "", reset, closed, notHTTP),
		retried("TLS error, none in half of Timeout", "", unknownCA, plainBehindHTTPS, wrongName, silent),
		retried("no connection in half of Timeout", "timeout", unreachable),
		retried("no complete answer within Timeout", "no complete answer", hanging, halfAnswer),
		retried("endless answer", "", trickling, flooding, endlessHeaders),
		retried("body longer than MaxAnswer", "longer than", oversized),
	}
}

func TestEachAnswerHasTheVerdictOfTheTable(t *testing.T) {
	for _, l := range lines() {
		t.Run(l.answer, func(t *testing.T) {
			for i, start := range l.endpoints {
				e := start(t)
				a := try(t, e)
				schedule := Schedule()
				for n, want := range map[int]verdict{1: l.first, len(schedule): l.first, len(schedule) + 1: l.last} {
					j := judge(a, n, schedule)
					if j.verdict != want || j.rest != l.rest {
						t.Errorf("endpoint %d, try %d: verdict %d, rest %v; want %d, %v (%+v)", i, n, j.verdict, j.rest, want, l.rest, a)
					}
					if (j.wait > 0) != (want == again) || j.wait < j.rest && want == again {
						t.Errorf("endpoint %d, try %d: waits %v beside a rest of %v", i, n, j.wait, j.rest)
					}
				}
				if (a.err == nil) != (l.first == done) || a.err != nil && !strings.Contains(a.err.Error(), l.says) {
					t.Errorf("endpoint %d: error %v, want %q", i, a.err, l.says)
				}
				if a.err != nil && strings.Contains(a.err.Error(), e.url) {
					t.Errorf("endpoint %d: the error shows the URL: %v", i, a.err)
				}
				if a.took <= 0 {
					t.Errorf("endpoint %d: no latency", i)
				}
			}
		})
	}
}

func TestTheDocumentationHasEachLineAndNoOther(t *testing.T) {
	text, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	var documented, tested []string
	for _, l := range strings.Split(string(text), "\n") {
		if answer, follows, ok := strings.Cut(strings.TrimPrefix(l, "//\t"), "|"); ok {
			documented = append(documented, strings.TrimSpace(answer)+" | "+strings.TrimSpace(follows))
		}
	}
	for _, l := range lines() {
		tested = append(tested, l.answer+" | "+l.follows)
	}
	if got, want := strings.Join(documented, "\n"), strings.Join(tested, "\n"); got != want {
		t.Errorf("documented:\n%s\n\ntested:\n%s", got, want)
	}
}

func TestOfAnAnswerItsStatusAndFirstBytesAreKept(t *testing.T) {
	a := try(t, status(404)(t))
	if a.status != 404 || a.text != "answer 404" {
		t.Errorf("%+v", a)
	}
	a = try(t, serve(t, func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, "a\x00b\xff"+strings.Repeat("ü", maxText))
	}))
	if len(a.text) > 2*maxText || !strings.HasPrefix(a.text, "a\uFFFDb\uFFFDü") || a.err != nil {
		t.Errorf("%d bytes: %q, %v", len(a.text), a.text[:20], a.err)
	}
}

func TestTheHighestBoundOfAnAnswerIsNone(t *testing.T) {
	e := serve(t, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, strings.Repeat("x", 100<<10)) })
	e.opts.MaxAnswer = math.MaxInt64
	if a := try(t, e); a.err != nil || len(a.text) != maxText {
		t.Errorf("%d bytes are kept, %v", len(a.text), a.err)
	}
	cut := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "5")
		io.WriteString(w, "x")
	})
	cut.opts.MaxAnswer = math.MaxInt64
	if a := try(t, cut); a.err == nil {
		t.Error("an answer that was cut off is a success")
	}
}

// The context of a worker that ends is no answer of the endpoint.
func TestACancelledTryIsNoTimeOut(t *testing.T) {
	e := hanging(t)
	opts := e.opts.withDefaults()
	c := newClient(&opts)
	defer c.close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if a := c.post(ctx, e.url, http.Header{}, nil); !errors.Is(a.err, context.Canceled) {
		t.Error(a.err)
	}
}
