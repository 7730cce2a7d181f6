package webhook

import (
	"math/rand/v2"
	"net/http"
	"time"
)

// Schedule is the standard's: how long after each failed try the next one is made. Ten tries, over three days.
func Schedule() []time.Duration {
	return []time.Duration{
		5 * time.Second, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour, 10 * time.Hour, 14 * time.Hour,
		20 * time.Hour, 24 * time.Hour,
	}
}

// verdict is what an answer means for a delivery.
type verdict int

const (
	done  verdict = iota // 2xx, read to its end
	again                // failed: there is another try, later
	dead                 // failed, and it was the last try
	gone                 // 410: dead, and the subscription is disabled
)

// judgement is a verdict with its waits.
type judgement struct {
	verdict verdict
	wait    time.Duration // again: until the next try of this delivery
	rest    time.Duration // how long the whole subscription is left alone; 0: not
}

// leaveAlone reports whether the endpoint wants no more requests, for a while or for good.
func (j judgement) leaveAlone() bool { return j.rest > 0 || j.verdict == gone }

// judge says what an answer to the n-th try (from 1) means. The wait is the schedule's, spread by an eighth to either side,
// or what the answer asks for where that is longer.
func judge(a answer, n int, schedule []time.Duration) judgement {
	switch {
	case a.err == nil:
		return judgement{verdict: done}
	case a.status == http.StatusGone:
		return judgement{verdict: gone}
	}
	j := judgement{verdict: again}
	if throttles(a.status) && a.retryAfter > 0 {
		j.rest = a.retryAfter
	}
	if n > len(schedule) {
		j.verdict = dead
		return j
	}
	d := schedule[n-1]
	j.wait = max(d-d/8+spread(d/4), j.rest+spread(j.rest/8))
	return j
}

// throttles reports whether an answer says that the endpoint, and not this request, is the trouble.
func throttles(status int) bool {
	switch status {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return false
}

func spread(d time.Duration) time.Duration {
	if d <= 0 {
		return 0
	}
	return rand.N(d)
}
