package webhook

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// maxRetryAfter bounds what an answer can ask for: the longest wait of the standard's own schedule.
const maxRetryAfter = 24 * time.Hour

// retryAfter is how long an answer asks to be left alone, from 0 to maxRetryAfter: its Retry-After in seconds or as a date,
// by the endpoint's own clock if it tells what that says. What can't be read is 0.
func retryAfter(h http.Header, now time.Time) time.Duration {
	text := strings.TrimSpace(h.Get("Retry-After"))
	if text == "" {
		return 0
	}
	if digits := strings.TrimLeft(text, "0123456789"); digits == "" {
		seconds, err := strconv.ParseInt(text, 10, 64)
		if err != nil || seconds > int64(maxRetryAfter/time.Second) { // more digits than an int64 has
			return maxRetryAfter
		}
		return time.Duration(seconds) * time.Second
	}
	at, err := http.ParseTime(text)
	if err != nil {
		return 0
	}
	if theirs, err := http.ParseTime(h.Get("Date")); err == nil {
		now = theirs
	}
	return min(max(at.Sub(now), 0), maxRetryAfter) // Sub does not overflow, it stops at the ends
}
