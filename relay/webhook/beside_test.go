package webhook_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/sqloutbox/sqloutbox/relay/webhook"
)

// A healthy endpoint alone, and beside twenty that fail in every way. How long each takes is logged, not asserted.
func TestAHealthyEndpointBesideBadOnes(t *testing.T) {
	const events = 100
	opts := webhook.Options{Timeout: 400 * time.Millisecond, Lease: 2 * time.Second}
	eachService(t, opts, func(s *service) {
		s.relay()
		s.work()
		for _, ordered := range []bool{false, true} {
			name := fmt.Sprintf("healthy, ordered %v", ordered)
			healthy := &site{kind: "healthy", ordered: ordered}
			s.open(healthy, name)
			took := func(owed int) time.Duration {
				s.Helper()
				start := time.Now()
				s.write("few", events/10)
				s.write("most", events-events/10)
				s.until("the healthy one has all", func() bool {
					healthy.mu.Lock()
					defer healthy.mu.Unlock()
					return len(healthy.times) == owed
				})
				return time.Since(start)
			}
			alone := took(events)
			for n := range 20 {
				kind := [...]string{"failing", "hanging", "resetting", "refusing"}[n%4]
				s.open(&site{kind: kind, ordered: n%3 == 0}, fmt.Sprintf("%s %d", kind, n))
			}
			beside := took(2 * events)
			s.Logf("%d events, ordered %v: %v alone, %v beside twenty bad endpoints", events, ordered, alone.Round(time.Millisecond), beside.Round(time.Millisecond))
			all, err := s.w.Subscriptions(s.Context())
			s.must(err)
			for _, i := range all {
				s.must(s.w.Delete(s.Context(), i.Name))
			}
		}
	})
}
