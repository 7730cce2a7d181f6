package webhook

import (
	"net/http"
	"strconv"
	"testing"
	"time"
)

func TestRetryAfterIsReadInSecondsAndAsADate(t *testing.T) {
	const now, noon = "Sun, 06 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 12:00:00 GMT"
	at, _ := http.ParseTime(now)
	toNoon := 3*time.Hour + 10*time.Minute + 23*time.Second
	for _, c := range []struct {
		text, date string
		want       time.Duration
	}{
		{"", "", 0},
		{"0", "", 0},
		{"120", "", 2 * time.Minute},
		{" 120 ", "", 2 * time.Minute},
		{"86400", "", 24 * time.Hour},
		{"86401", "", 24 * time.Hour},
		{"99999999999999999999999", "", 24 * time.Hour},
		{"-1", "", 0},
		{"+5", "", 0},
		{"1.5", "", 0},
		{"1e3", "", 0},
		{"soon", "", 0},
		{noon, "", toNoon},
		{"Sunday, 06-Nov-94 12:00:00 GMT", "", toNoon}, // the two obsolete forms
		{"Sun Nov  6 12:00:00 1994", "", toNoon},
		{noon, "Sun, 06 Nov 1994 11:59:00 GMT", time.Minute}, // the endpoint's clock is ahead
		{noon, "yesterday", toNoon},
		{now, "", 0},
		{"Sun, 06 Nov 1994 08:00:00 GMT", "", 0},
		{"Fri, 31 Dec 9999 23:59:59 GMT", "", 24 * time.Hour},
		{noon, "Mon, 01 Jan 0001 00:00:00 GMT", 24 * time.Hour},
	} {
		h := http.Header{}
		h.Set("Retry-After", c.text)
		h.Set("Date", c.date)
		if got := retryAfter(h, at); got != c.want {
			t.Errorf("%q beside Date %q: %v, want %v", c.text, c.date, got, c.want)
		}
	}
}

func FuzzRetryAfter(f *testing.F) {
	f.Add("120", "", int64(0))
	f.Add("Sun, 06 Nov 1994 08:49:37 GMT", "Mon, 01 Jan 0001 00:00:00 GMT", int64(784111777))
	f.Add("-99999999999999999999", "x", int64(-1))
	f.Fuzz(func(t *testing.T, text, date string, now int64) {
		h := http.Header{"Retry-After": {text}, "Date": {date}}
		got := retryAfter(h, time.Unix(now, 0))
		if got < 0 || got > maxRetryAfter {
			t.Errorf("%q, %q: %v", text, date, got)
		}
		if n, err := strconv.ParseUint(text, 10, 16); err == nil && got != time.Duration(n)*time.Second {
			t.Errorf("%q: %v", text, got)
		}
		for n := range 12 {
			j := judge(answer{status: 503, retryAfter: got, err: errRedirect}, n+1, Schedule())
			if j.verdict == again && j.wait < got || j.wait > 27*time.Hour || j.wait < 0 {
				t.Errorf("waits %v after being asked for %v", j.wait, got)
			}
		}
	})
}

func TestTheScheduleIsTheStandardsWithJitter(t *testing.T) {
	var since time.Duration
	for n, d := range Schedule() {
		since += d
		low, high := d, time.Duration(0)
		for range 1000 {
			j := judge(answer{status: 500, err: errRedirect}, n+1, Schedule())
			low, high = min(low, j.wait), max(high, j.wait)
		}
		if low < d-d/8 || high > d+d/8 || low > d-d/16 || high < d+d/16 {
			t.Errorf("after try %d: %v to %v around %v", n+1, low, high, d)
		}
	}
	if want := 75*time.Hour + 35*time.Minute + 5*time.Second; since != want {
		t.Errorf("the last try is after %v, the standard's after %v", since, want)
	}
}
