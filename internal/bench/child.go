package bench

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/sqloutbox/sqloutbox/internal/bench/contest"
)

// childVariable holds what a process that this program starts of itself is to do.
const childVariable = "SQLOUTBOX_BENCH_CHILD"

// task is a child's: run one contestant on a database that has its tables, until stdin ends.
type task struct {
	Name, Engine, URL string
	Want              int
	Work              time.Duration
	Tuning            contest.Tuning
}

// last is what a child says in the end.
type last struct {
	Peak  int64         // bytes of memory at most, as the system sees it
	First time.Duration // from its start of the contestant to the first delivery
	Error string
}

const ending = ^uint64(0)

// MaybeChild runs as a child if this process is one, and does not return then. A program that runs scenarios calls it
// first.
func MaybeChild() {
	text := os.Getenv(childVariable)
	if text == "" {
		return
	}
	out := bufio.NewWriterSize(os.Stdout, 1<<16)
	said, err := beChild(text, out)
	if err != nil {
		said.Error = err.Error()
	}
	said.Peak = peakMemory()
	_ = binary.Write(out, binary.BigEndian, ending)
	_ = json.NewEncoder(out).Encode(said)
	_ = out.Flush()
	os.Exit(0)
}

// beChild writes the number of each event that is delivered.
func beChild(text string, out *bufio.Writer) (last, error) {
	var o task
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		return last{}, err
	}
	c, ok := contest.Find(o.Name)
	if !ok {
		return last{}, fmt.Errorf("no contestant %q", o.Name)
	}
	ctx := context.Background()
	p, err := contest.OpenPlace(o.Engine, o.URL)
	if err != nil {
		return last{}, err
	}
	defer p.Close()
	s, err := c.Open(ctx, p)
	if err != nil {
		return last{}, err
	}
	defer s.Close()
	numbers := make(chan uint64, 1<<16)
	sink := (&contest.Sink{Want: o.Want, Work: o.Work, Seen: func(i int, _ time.Time) { numbers <- uint64(i) },
		Again: func(i int) { numbers <- uint64(i) }}).Ready()
	stop, err := s.Start(ctx, sink, o.Tuning)
	if err != nil {
		return last{}, err
	}
	done := make(chan struct{})
	go func() { defer close(done); tell(out, numbers) }()
	_, _ = io.Copy(io.Discard, os.Stdin)
	err = stop()
	close(numbers)
	<-done
	return last{First: sink.First()}, err
}

// tell writes numbers, and hands on what is written a hundred times a second.
func tell(out *bufio.Writer, numbers <-chan uint64) {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	var eight [8]byte
	for {
		select {
		case n, open := <-numbers:
			if !open {
				return
			}
			binary.BigEndian.PutUint64(eight[:], n)
			_, _ = out.Write(eight[:])
		case <-tick.C:
			_ = out.Flush()
		}
	}
}
