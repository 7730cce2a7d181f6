package bench

import "time"

// Sizes are how much of everything a run takes. JSON names are printed with the results.
type Sizes struct {
	Rounds      int           `json:"rounds"`
	Batch       int           `json:"batch"`       // of all contestants that have batches
	Concurrency int           `json:"concurrency"` // hand-overs at once where a publish takes time
	Limit       time.Duration `json:"limit_ns"`    // a round that takes longer is cut off, and its rate is that until then
	Keys        int           `json:"keys"`
	Payload     int           `json:"payload"`
	Drain       int           `json:"drain"`    // events
	Payloads    []int         `json:"payloads"` // for the curve
	Large       int           `json:"large"`    // bytes of a large payload
	DrainLarge  int           `json:"drain_large"`
	Slow        int           `json:"slow"`          // events where a publish takes Work
	SlowLimit   time.Duration `json:"slow_limit_ns"` // in place of Limit: whoever goes one by one does so at a steady rate
	Work        time.Duration `json:"work_ns"`
	Writes      int           `json:"writes"`  // transactions of a round
	Inserts     int           `json:"inserts"` // calls within one transaction
	Rate        int           `json:"rate"`    // events a second, for latency
	RateFor     time.Duration `json:"rate_for_ns"`
	Calm        time.Duration `json:"calm_ns"` // before the first of them
	Processes   []int         `json:"processes"`
	Backlog     []int         `json:"backlog"` // the first is the small one, of which as many are drained
	Kept        []int         `json:"kept"`
	Scheduled   []int         `json:"scheduled"`
	Snapshot    int           `json:"snapshot"`    // events that go through while a snapshot is open
	SnapshotBy  int           `json:"snapshot_by"` // compared in slices of so many
	Idle        time.Duration `json:"idle_ns"`
	Memory      int           `json:"memory"`      // events
	MemorySize  int           `json:"memory_size"` // bytes of each
}

// Full is what the published numbers are made with.
func Full() Sizes {
	return Sizes{
		Rounds: 5, Batch: 500, Concurrency: 400, Limit: 15 * time.Second, Keys: 1000, Payload: 256,
		Payloads: []int{256, 2 << 10, 16 << 10, 64 << 10}, Drain: 100_000, Large: 8 << 10, DrainLarge: 100_000, Slow: 20_000, SlowLimit: 5 * time.Second, Work: time.Millisecond,
		Writes: 500, Inserts: 500, Rate: 200, RateFor: 10 * time.Second, Calm: time.Second, Processes: []int{1, 2, 4},
		Backlog: []int{20_000, 100_000, 1_000_000}, Kept: []int{0, 100_000, 1_000_000}, Scheduled: []int{0, 400_000},
		Snapshot: 200_000, SnapshotBy: 20_000, Idle: time.Minute, Memory: 50_000, MemorySize: 64 << 10,
	}
}

// Quick is for a look in a few minutes.
func Quick() Sizes {
	s := Full()
	s.Rounds, s.Batch, s.Limit, s.SlowLimit = 3, 100, 400*time.Millisecond, 400*time.Millisecond
	s.Drain, s.DrainLarge, s.Slow = 3000, 500, 3000
	s.Writes, s.Inserts, s.RateFor, s.Calm = 20, 100, 300*time.Millisecond, 100*time.Millisecond
	s.Processes, s.Backlog, s.Kept, s.Scheduled = []int{1, 4}, []int{2000, 20_000}, []int{0, 20_000}, []int{0, 20_000}
	s.Snapshot, s.SnapshotBy = 10_000, 2000
	s.Idle, s.Memory, s.MemorySize = 8*time.Second, 500, 64<<10
	return s
}

// Smallest is for the module's own test: does it run at all.
func Smallest() Sizes {
	s := Quick()
	s.Rounds, s.Limit, s.SlowLimit = 1, 100*time.Millisecond, 100*time.Millisecond
	s.Drain, s.DrainLarge, s.Slow, s.Writes, s.Inserts = 200, 10, 30, 2, 5
	s.RateFor, s.Calm, s.Idle = 50*time.Millisecond, 20*time.Millisecond, 50*time.Millisecond
	s.Payloads = []int{256, 2048}
	s.Backlog, s.Kept, s.Scheduled = []int{100, 300}, []int{0, 300}, []int{0, 300}
	s.Snapshot, s.SnapshotBy, s.Processes, s.Memory, s.MemorySize = 300, 100, []int{1, 2}, 10, 4<<10
	return s
}
