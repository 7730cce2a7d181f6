package contest

import (
	"context"
	"sync/atomic"
	"time"
)

// Sink is the destination: it takes Work for each event, and knows which were there, and when.
type Sink struct {
	Want  int                            // events, numbered from 0
	Until int                            // Done after so many; 0: Want
	Work  time.Duration                  // what a publish takes
	After int                            // the rate is that of what comes after so many: start-up is over, and a batch ends
	Each  int                            // note the time after each so many; 0: never
	Seen  func(number int, at time.Time) // told of each event's first delivery; nil: nobody
	Again func(number int)               // told of each further one; nil: nobody
	Done  chan struct{}                  // closed after Until events

	bits    []atomic.Uint64
	count   atomic.Int64
	doubles atomic.Int64
	strays  atomic.Int64
	start   time.Time
	first   atomic.Int64 // since start, ns
	after   atomic.Int64
	last    atomic.Int64
	marks   []atomic.Int64
}

// Ready makes the sink fit for use. Fields must be set before.
func (s *Sink) Ready() *Sink {
	if s.Until == 0 {
		s.Until = s.Want
	}
	s.bits = make([]atomic.Uint64, s.Want/64+1)
	s.Done = make(chan struct{})
	s.start = time.Now()
	if s.Each > 0 {
		s.marks = make([]atomic.Int64, s.Want/s.Each+1)
	}
	return s
}

// Deliver is one publish.
func (s *Sink) Deliver(payload []byte) {
	if s.Work > 0 {
		time.Sleep(s.Work)
	}
	s.Take(number(payload))
}

// Take notes the delivery of an event by its number.
func (s *Sink) Take(n int) {
	if n < 0 || n >= s.Want {
		s.strays.Add(1)
		return
	}
	bit := uint64(1) << (n % 64)
	if s.bits[n/64].Or(bit)&bit != 0 {
		s.doubles.Add(1)
		if s.Again != nil {
			s.Again(n)
		}
		return
	}
	if s.Seen != nil {
		s.Seen(n, time.Now())
	}
	c := int(s.count.Add(1))
	if c == 1 {
		s.first.Store(int64(time.Since(s.start)))
	}
	if c == s.After {
		s.after.Store(int64(time.Since(s.start)))
	}
	if s.Each > 0 && c%s.Each == 0 {
		s.marks[c/s.Each].Store(int64(time.Since(s.start)))
	}
	if c == s.Until {
		s.last.Store(int64(time.Since(s.start)))
		close(s.Done)
	}
}

// Await waits until all is delivered, but not longer than limit, and says whether it is.
func (s *Sink) Await(ctx context.Context, limit time.Duration) (bool, error) {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-s.Done:
		return true, nil
	case <-timer.C:
		return false, nil
	case <-ctx.Done():
		return false, ctx.Err()
	}
}

// Count is how many different events were delivered.
func (s *Sink) Count() int { return int(s.count.Load()) }

// Doubles are deliveries of events that had been delivered before, and Strays those of events that nobody wrote.
func (s *Sink) Doubles() int { return int(s.doubles.Load()) }
func (s *Sink) Strays() int  { return int(s.strays.Load()) }

// First is how long after Ready the first delivery was.
func (s *Sink) First() time.Duration { return time.Duration(s.first.Load()) }

// Rate is events a second from event After on, until the last one or now. If they were not so many, it is from the start.
func (s *Sink) Rate() float64 {
	n, end := s.Count(), time.Duration(s.last.Load())
	if end == 0 {
		end = time.Since(s.start)
	} else {
		n = s.Until
	}
	begin := time.Duration(s.after.Load())
	if begin > 0 {
		n -= s.After
	}
	return float64(n) / (end - begin).Seconds()
}

// Rates are events a second of each Each events that were delivered.
func (s *Sink) Rates() []float64 {
	var rates []float64
	before := s.First()
	for i := range s.marks {
		if at := time.Duration(s.marks[i].Load()); at > 0 {
			rates = append(rates, float64(s.Each)/(at-before).Seconds())
			before = at
		}
	}
	return rates
}
