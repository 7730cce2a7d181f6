package webhook

import "testing"

// How many deliveries are claimed, by what is known of the endpoint and what is in hand.
func TestRoomForMore(t *testing.T) {
	opts := (&Options{Parallel: 4}).withDefaults()
	outcomes := func(v verdict, n int, rest bool) (all []outcome) {
		for range n {
			o := outcome{delivery: &delivery{event: &event{}, claim: &claim{to: &endpointRow{}}}, j: judgement{verdict: v}}
			if rest {
				o.j.rest = 1
			}
			all = append(all, o)
		}
		return all
	}
	healthy, ordered := endpointRow{active: true}, endpointRow{active: true, ordered: true}
	failing, paused, resting := endpointRow{active: true, failures: 9}, endpointRow{}, endpointRow{active: true, rest: 2, now: 1}
	for _, c := range []struct {
		what string
		row  endpointRow
		t    turn
		want int
	}{
		{"healthy", healthy, turn{open: true}, 8},
		{"healthy, some in hand", healthy, turn{open: true, left: 3}, 5},
		{"healthy, but nothing is to be claimed", healthy, turn{}, 0},
		{"ordered", ordered, turn{open: true}, orderedRun},
		{"ordered, some in hand", ordered, turn{open: true, left: 1}, 0},
		{"nine failures", failing, turn{open: true}, 8},
		{"the tenth", failing, turn{open: true, fitted: outcomes(again, 1, false)}, carefulRun},
		{"the tenth, some in hand", failing, turn{open: true, left: 1, fitted: outcomes(dead, 1, false)}, 0},
		{"a success after nine", failing, turn{open: true, left: 1, fitted: append(outcomes(again, 3, false), outcomes(done, 1, false)...)}, 7},
		{"paused", paused, turn{open: true}, 0},
		{"resting", resting, turn{open: true}, 0},
		{"it asks for a rest", healthy, turn{open: true, fitted: outcomes(again, 1, true)}, 0},
		{"gone", healthy, turn{open: true, fitted: outcomes(gone, 1, false)}, 0},
	} {
		l := newLane(&Webhooks{opts: opts}, 1)
		l.single = c.row.ordered || c.t.careful(&c.row)
		if got := l.room(&c.t, &c.row); got != c.want {
			t.Errorf("%s: room for %d, want %d", c.what, got, c.want)
		}
	}
}
