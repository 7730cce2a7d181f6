package relay

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
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
