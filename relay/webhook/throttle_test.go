package webhook_test

import (
	"net/http"
)

// throttling is a receiver that asks to be left alone while busy.
func throttling(rec *receiver, busy *bool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rec.add(r.Header, "")
		rec.mu.Lock()
		defer rec.mu.Unlock()
		if *busy {
			w.Header().Set("Retry-After", "3600")
			w.WriteHeader(http.StatusTooManyRequests)
		}
	})
}
