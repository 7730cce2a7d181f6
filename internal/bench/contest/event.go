package contest

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
)

// Event is what all contestants carry. Its payload is text, which favours who keeps JSON, and begins with its number, so that a sink
// can tell which are there.
type Event struct {
	Key     string
	Payload []byte
}

// Batch is N events from the number From on, of Size bytes, over Keys keys in turn.
type Batch struct {
	From, N, Size, Keys int
}

// Topic is the topic of all events.
const Topic = "bench"

const minSize = 8 // the number, in hexadecimal digits

var filler = sync.OnceValue(func() []byte {
	r := rand.New(rand.NewPCG(6, 6))
	text := make([]byte, 128<<10)
	for i := range text {
		text[i] = 'a' + byte(r.IntN(26))
	}
	return text
})

// Event is event i of the batch, counted from 0. Its text does not compress well.
func (b Batch) Event(i int) Event {
	size := max(b.Size, minSize)
	payload := make([]byte, size)
	copy(payload, fmt.Sprintf("%0*x", minSize, b.From+i))
	for n := minSize; n < size; {
		n += copy(payload[n:], filler()[i%1024:])
	}
	return Event{Key: fmt.Sprintf("key-%d", (b.From+i)%max(b.Keys, 1)), Payload: payload}
}

// Chunks calls f for all events, as many at a time as make up about 2 MB, and at most 500.
func (b Batch) Chunks(f func([]Event) error) error {
	most := min(500, max(1, 2<<20/max(b.Size, 1)))
	for i := 0; i < b.N; {
		n := min(most, b.N-i)
		events := make([]Event, n)
		for k := range events {
			events[k] = b.Event(i + k)
		}
		if err := f(events); err != nil {
			return err
		}
		i += n
	}
	return nil
}

func number(payload []byte) int {
	if len(payload) < minSize {
		return -1
	}
	n, err := strconv.ParseUint(string(payload[:minSize]), 16, 32)
	if err != nil {
		return -1
	}
	return int(n)
}
