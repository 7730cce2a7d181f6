package webhook

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/sqloutbox/sqloutbox/outbox"
)

func TestWhatAnEndpointSendsBackOfHeadersIsNotKept(t *testing.T) {
	opts := (&Options{AllowHTTP: true, AllowPrivate: true}).withDefaults()
	c := newClient(&opts)
	defer c.close()
	h := http.Header{"Authorization": {"Bearer topsecret-token"}, "Content-Type": {"application/json"}, "X-Short": {"a"}}
	for name, before := range map[string]int{"at once": 0, "across the cut": maxText - 20} {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusInternalServerError)
			token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
			fmt.Fprint(w, strings.Repeat("a", before), r.Header.Get("Content-Type"), token, " or ", r.Header)
		}))
		a := c.post(context.Background(), srv.URL, h, nil)
		srv.Close()
		if strings.Contains(a.text, "tops") || strings.Contains(a.text, "token") || len(a.text) > maxText {
			t.Errorf("%s: %q", name, a.text)
		}
		if before == 0 && (!strings.HasPrefix(a.text, "application/json"+redacted+" or ") || !strings.Contains(a.text, "X-Short")) {
			t.Errorf("%s: too much is hidden: %q", name, a.text)
		}
	}
}

func TestAnAnswerThatIsNoHTTPShowsNoHeader(t *testing.T) {
	all := secretValues(http.Header{"X-Key": {"topsecret"}})
	if err := all.hideIn(fmt.Errorf("malformed %q: %w", "topsecret", io.EOF)); strings.Contains(err.Error(), "secret") {
		t.Error(err)
	}
}

func TestAnURLInAnErrorShowsNoUser(t *testing.T) {
	opts := (&Options{}).withDefaults()
	for _, u := range []string{
		"https://hunter2@host/", "https://hunter2:pw@host/", "http://hunter2@host/", "ftp://hunter2@host/", "hunter2:x@host", "hunter2@host/x",
		"http:hunter2@host", "https://host/?key=hunter2#x", "https://hunter2@127.0.0.1/", "//hunter2@host/", "https:///hunter2",
	} {
		if err := opts.checkURL(u); err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", u, err)
		}
	}
}

// An event's id has 128 bytes at most, and an Inbox takes 255.
func TestAnIDFitsIntoAnInbox(t *testing.T) {
	seen := make(map[string]string)
	for _, id := range []string{
		"0192e4a0-0000-7000-8000-000000000000", "a.b", strings.Repeat("é.", 42), strings.Repeat("\x01", 128), strings.Repeat(".", 128),
		strings.Repeat(".", 127) + "x", strings.Repeat("x", 128), "%~YQ", "",
	} {
		got := ID(id)
		if len(got) > 255 || !isFieldValue(got) || strings.Contains(got, ".") {
			t.Errorf("%q becomes %q", id, got)
		}
		if other, ok := seen[got]; ok {
			t.Errorf("%q and %q become the same", id, other)
		}
		seen[got] = id
	}
	if ID("a.b") != "a%2Eb" || outbox.MaxIDLen > 128 {
		t.Errorf("%q; an event's id has up to %d bytes", ID("a.b"), outbox.MaxIDLen)
	}
}

// Within a second a next try is the same request, to the last byte.
func TestANextTryInAnotherSecondIsAccepted(t *testing.T) {
	key := NewSecret()
	v, err := NewVerifier(key)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now().Truncate(time.Second)
	try := func(at time.Time) error {
		h := http.Header{}
		Sign(h, "id", at, nil, key)
		_, err := v.Verify(h, nil)
		return err
	}
	if err := try(now); err != nil {
		t.Error(err)
	}
	if err := try(now.Add(999 * time.Millisecond)); err == nil {
		t.Error("the same request is accepted twice")
	}
	if err := try(now.Add(time.Second)); err != nil {
		t.Error(err)
	}
}
