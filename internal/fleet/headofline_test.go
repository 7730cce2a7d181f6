package fleet

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sqloutbox/sqloutbox/internal/racing"
	"github.com/sqloutbox/sqloutbox/outbox"
	"github.com/sqloutbox/sqloutbox/relay"
)

// behindSize is how many events wait behind the one that fails; OUTBOX_TEST_BEHIND=100000 asks for a mountain.
func behindSize(t *testing.T) int {
	t.Helper()
	text := os.Getenv("OUTBOX_TEST_BEHIND")
	if text == "" {
		return 20_000
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("OUTBOX_TEST_BEHIND: %v", err)
	}
	return n
}

// One key fails, with a mountain behind it that is older than all that others write. They get through all the same, at no less
// than a quarter of the rate that they have without it (less under the race detector), and the relay does not take the mountain
// into its memory.
func TestOneFailingKeyIsNotInTheWayOfTheOthers(t *testing.T) {
	const (
		keys   = 100
		memory = 128 << 20 // of the whole process, with its drivers
		slower = 4 * racing.Slow
		tries  = 5
	)
	behind := behindSize(t)
	others := behind / 10 // the more, the longer the mountain is in the way
	eachEngine(t, func(t *testing.T, d *database) {
		var fails atomic.Bool
		var failed atomic.Int64
		fails.Store(true)
		rc := newReceiver(t, func(r receipt) answer {
			if !strings.HasPrefix(r.Key, "bad") || !fails.Load() {
				return answer{}
			}
			failed.Add(1)
			return answer{Kind: answerFailed, Text: "not this one"}
		})
		f := newFleet(t, d.url, rc, relay.Options{
			Order: relay.OrderPerKey, Poll: 50 * time.Millisecond, Backoff: 200 * time.Millisecond, BackoffMax: time.Second,
			MaxAttempts: 1_000_000,
		})
		p := f.start()
		d.awaitShares(t, 1, 20*time.Second)
		// rate writes events of the other keys, and answers how many arrive a second: of the first nine tenths, and of all.
		// The few keys that share a partition with the mountain are among the last.
		written := 0
		rate := func() (most, all float64) {
			t.Helper()
			arrived := rc.distinct()
			d.write(t, ofKeys(fmt.Sprint("after ", written), others, keys)...)
			from := time.Now()
			written += others
			eventually(t, time.Minute, "most events of the other keys are through", func() bool { return rc.distinct() >= arrived+others/10*9 })
			most = float64(others) * 0.9 / time.Since(from).Seconds()
			eventually(t, time.Minute, "the events of the other keys are through", func() bool { return rc.distinct() == arrived+others })
			return most, float64(others) / time.Since(from).Seconds()
		}
		rate() // to get warm

		// A machine that does much else makes a rate low now and then, but not always: then it is tried with another mountain.
		var failing []string
		for slowDuring, slowAfter := true, true; slowDuring || slowAfter; {
			if len(failing) == tries {
				t.Errorf("in %d tries the others never had one part in %d of the rate that they have without it; while it was put aside %v, afterwards %v",
					tries, slower, slowDuring, slowAfter)
				break
			}
			_, without := rate()
			bad := fmt.Sprint("bad", len(failing))
			before := failed.Load()
			failing = append(failing, d.write(t, outbox.Event{Topic: "t", Key: bad})...)
			eventually(t, 20*time.Second, "the key fails", func() bool { return failed.Load() > before && rc.times(failing[len(failing)-1]) > 0 })
			d.pile(t, bad, behind)
			mostDuring, during := rate()
			eventually(t, 2*time.Minute, "the mountain is put aside", func() bool {
				return d.number(t, "SELECT COUNT(*) FROM (SELECT seq FROM "+d.Table("events")+" WHERE state = 0 LIMIT 10) pending") <= int64(len(failing))
			})
			_, after := rate()
			slowDuring, slowAfter = slowDuring && during < without/slower, slowAfter && after < without/slower
			t.Logf("%d behind the failing one: the others had %.0f events/s without it, %.0f while they were put aside (%.0f %%; nine tenths %.0f %%), "+
				"%.0f from then on (%.0f %%)",
				behind, without, during, 100*during/without, 100*mostDuring/without, after, 100*after/without)
		}
		before := failed.Load()
		eventually(t, 20*time.Second, "the key is still tried, and fails", func() bool { return failed.Load() > before })
		if n := rc.distinct(); n != written+len(failing) {
			t.Errorf("%d events have arrived, want %d of the other keys and the %d that fail", n, written, len(failing))
		}
		used := p.peakMemory(t)
		t.Logf("the relay took %d MiB at most", used>>20)
		if used > memory {
			t.Errorf("the relay took %d bytes of memory, want at most %d", used, memory)
		}

		fails.Store(false)
		some := min(behind, 1000)
		eventually(t, time.Minute, "the key flows", func() bool { return rc.distinct() > written+some })
		p.stop(t)
		rc.wantKeysInOrder(t)
		if n := rc.times(failing[0]); n < 3 {
			t.Errorf("the event that failed was handed over %d times", n)
		}
	})
}

// pile inserts events of one key as a program in another language would: in bulk, by SQL alone.
func (d *database) pile(t *testing.T, name string, n int) {
	t.Helper()
	digit := "(SELECT 0 AS n"
	for i := 1; i < 10; i++ {
		digit += fmt.Sprint(" UNION ALL SELECT ", i)
	}
	digit += ")"
	d.exec(t, fmt.Sprintf(`INSERT INTO %s (id, topic, event_key, partition_no, payload)
SELECT CONCAT('%s-', i.n), 't', '%s', %d, ''
FROM (SELECT a.n + 10 * b.n + 100 * c.n + 1000 * d.n + 10000 * e.n AS n
      FROM %[5]s a, %[5]s b, %[5]s c, %[5]s d, %[5]s e) i
WHERE i.n < %[6]d`, d.Table("events"), name, name, outbox.Partition(name), digit, n))
}

// peakMemory is the most that a process that runs has had in memory.
func (p *process) peakMemory(t *testing.T) int64 {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	var kib int64
	if _, err := fmt.Sscan(rest, &kib); err != nil {
		t.Fatalf("read VmHWM: %v", err)
	}
	return kib << 10
}
