package webhook_test

import (
	"slices"
	"testing"
	"time"

	"github.com/sqloutbox/sqloutbox/relay/webhook"
)

// From the commit of an event to its request at the endpoint. Poll is an hour: what arrives was nudged all the way. How long
// it takes is logged, not asserted.
func TestAPublishSendsAtOnce(t *testing.T) {
	eachService(t, webhook.Options{Poll: time.Hour}, func(s *service) {
		arrived := make(chan time.Time, 1)
		rec := s.receiver(func(request) int {
			arrived <- time.Now()
			return 200
		})
		s.create(webhook.Subscription{Name: "x", URL: rec.URL, Topics: []string{"*"}})
		s.relay()
		s.work()
		var took []time.Duration
		for range 30 {
			s.write("t", 1)
			start := time.Now() // after InTx: its COMMIT has been answered
			select {
			case at := <-arrived:
				took = append(took, at.Sub(start))
			case <-time.After(patience):
				s.Fatal("nothing arrives")
			}
		}
		slices.Sort(took)
		s.Logf("from commit to request: median %v, 90%% %v, longest %v", took[15], took[27], took[29])
	})
}
