package relay

import (
	"context"
	"testing"
	"time"

	"github.com/sqloutbox/sqloutbox/internal/clocks"
)

// kept counts how often a source was told to keep what is in hand.
type kept struct{ n int }

func (*kept) turn(context.Context, *turn) error { return nil }
func (k *kept) keep(context.Context, *hand)     { k.n++ }

// Where each turn is worth its while at once, as with events so large that fewer than Batch are taken at a time, claims are
// still extended, and calls that do not return given up.
func TestTurnsWithoutAPauseStillKeepWhatIsInHand(t *testing.T) {
	r := &Relay{opts: (*Options)(nil).withDefaults(), now: clocks.New()}
	h := r.newHand(t.Context())
	defer h.cancel(nil)
	src := &kept{}
	x := &roller{r: r, s: &session{r: r, gone: make(chan struct{})}, src: src, hand: h, open: true, more: true}
	x.tick = time.NewTicker(time.Millisecond)
	defer x.tick.Stop()
	for end := time.Now().Add(10 * time.Second); src.n < 10 && time.Now().Before(end); {
		x.await(t.Context())
	}
	if src.n < 10 {
		t.Errorf("told %d times in 10 s", src.n)
	}
}
