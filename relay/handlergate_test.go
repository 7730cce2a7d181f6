package relay

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sqloutbox/sqloutbox/internal/clocks"
)

func TestOneThatIsToBeAloneIsAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g gate
		first, _ := g.enter(t.Context(), false)
		second, _ := g.enter(t.Context(), false)
		var order []string
		enter := func(name string, alone bool) {
			go func() {
				leave, err := g.enter(t.Context(), alone)
				if err != nil {
					t.Error(err)
					return
				}
				order = append(order, name)
				time.Sleep(time.Second)
				leave()
				leave() // does nothing
			}()
			synctest.Wait()
		}
		enter("alone", true)
		enter("behind it", false) // though the first two are beside each other
		first()
		synctest.Wait()
		if len(order) != 0 {
			t.Errorf("%v is in beside another", order)
		}
		second()
		synctest.Wait()
		if len(order) != 1 || order[0] != "alone" {
			t.Errorf("%v is in, want the one that is to be alone", order)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if _, err := g.enter(ctx, false); err == nil {
			t.Error("another is in beside the one that is alone")
		}
		time.Sleep(3 * time.Second)
		synctest.Wait()
		if len(order) != 2 {
			t.Errorf("%v: want all", order)
		}
	})
}

// A handler's only place is taken, perhaps for good. What waits for it keeps nothing from being alone, and what is to go alone
// does not wait for it: all others would wait for that.
func TestOneThatWaitsForItsHandlersPlaceIsInNobodysWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &Relay{opts: (*Options)(nil).withDefaults(), now: clocks.New()}
		h := &Handlers{relay: r}
		full := &handler{room: make(chan struct{}, 1)}
		hung, err := h.enter(t.Context(), full, nil, false)
		if err != nil {
			t.Fatal(err)
		}
		hung.gate() // it was given up
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		in := make(chan *place)
		go func() {
			p, err := h.enter(ctx, full, nil, false)
			if err != nil {
				t.Error(err)
			} else {
				in <- p
			}
			close(in)
		}()
		synctest.Wait()
		began := time.Now()
		alone, err := h.enter(ctx, &handler{}, nil, true)
		if err != nil {
			t.Fatal(err)
		}
		alone.leave()
		if _, err := h.enter(ctx, full, nil, true); !errors.Is(err, errFull) {
			t.Errorf("one that is to go alone: %v, want that there is no room", err)
		}
		if waited := time.Since(began); waited != 0 {
			t.Errorf("they waited for %v", waited)
		}
		hung.leave() // it has returned
		if p := <-in; p != nil {
			p.leave()
		}
		alone, err = h.enter(ctx, full, nil, true)
		if err != nil {
			t.Fatal(err)
		}
		alone.leave()
	})
}
