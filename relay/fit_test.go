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
	}{
		{batch(100, 10), 100}, {large, 16}, {batch(16, 1<<20), 16}, {batch(7, 10), 16}, {batch(16, 10), 32}, {batch(32, 10), 64}, {batch(64, 10), 100},
	} {
		if x.fits = x.fit(step.turn); x.fits != step.want {
			t.Errorf("after turn %d: %d events fit, want %d", i+1, x.fits, step.want)
		}
	}
}
