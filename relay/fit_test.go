package relay

import "testing"

// What does not fit by its bytes would be sent by the database and thrown away, in every turn.
func TestABatchIsNoLargerThanWhatFits(t *testing.T) {
	x := &roller{r: &Relay{opts: Options{Batch: 100}}, fits: 100}
	batch := func(n, bytes int) *turn {
		took := &turn{room: x.fits}
		for range n {
			e := &event{}
			e.msg.Payload = make([]byte, bytes)
			took.batch = append(took.batch, e)
		}
		return took
	}
	large := batch(16, 1<<20)
	large.cut = 16
	for i, step := range []struct {
		turn *turn
		want int
		// twice is whether as many again fit.
		twice bool
	}{
		{batch(100, 10), 100, true}, {large, 16, false}, {batch(0, 0), 16, false}, {batch(16, 1<<20), 16, false}, {batch(7, 10), 16, true},
		{batch(16, 10), 32, true}, {batch(32, 10), 64, true}, {batch(64, 10), 100, true}, {batch(100, 40<<10), 100, true}, {batch(100, 42<<10), 100, false},
	} {
		if x.fit(step.turn); x.fits != step.want || x.twice != step.twice {
			t.Errorf("after turn %d: %d events fit, twice %v; want %d, %v", i+1, x.fits, x.twice, step.want, step.twice)
		}
	}
}
