package conformance

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sqloutbox/sqloutbox/outbox"
	"github.com/sqloutbox/sqloutbox/relay"
)

// PublisherHarness is what the suite has to know about the publisher that is put through it.
type PublisherHarness struct {
	// New makes a publisher whose destination is up and empty. It may implement relay.BatchPublisher too. Required.
	New func(t testing.TB) relay.Publisher

	// Received answers the ids of all messages that have arrived at the destination of the newest publisher, in the
	// order of their arrival, doubles included. Without it the suite can't tell whether an answer of nil is true.
	Received func(t testing.TB) []string

	// Down makes the destination of the newest publisher refuse or ignore what it is sent, until the test ends.
	// Optional.
	Down func(t testing.TB)

	// Limit is how long a publisher may take to return once its context has ended; default 2 s.
	Limit time.Duration
}

// PublisherCase is one rule for publishers.
type PublisherCase struct {
	Name string
	run  func(t *publisherEnv)
}

// Run puts a publisher through this case alone.
func (c PublisherCase) Run(t testing.TB, h PublisherHarness) {
	t.Helper()
	if h.New == nil {
		t.Fatal("a PublisherHarness needs New")
	}
	if h.Limit == 0 {
		h.Limit = 2 * time.Second
	}
	c.run(&publisherEnv{TB: t, h: h, p: h.New(t)})
}

// RunPublisher puts a publisher through every case, one subtest each, with a publisher of its own.
func RunPublisher(t *testing.T, h PublisherHarness) {
	t.Helper()
	for _, c := range PublisherCases() {
		t.Run(c.Name, func(t *testing.T) { c.Run(t, h) })
	}
}

// PublisherCases are all that RunPublisher runs.
func PublisherCases() []PublisherCase {
	return []PublisherCase{
		{"what is answered with nil has arrived", publisherArrives},
		{"messages arrive in the order of their calls", publisherOrder},
		{"an empty payload, no headers and no key are no fault", publisherEmpty},
		{"any payload, headers and texts are taken", publisherOdd},
		{"a message that is handed over twice is taken twice", publisherTwice},
		{"a context that has ended is an error", publisherEnded},
		{"a destination that is down is an error, and the context ends the wait for it", publisherDown},
		{"many calls at once are safe", publisherConcurrent},
		{"a batch has one answer a message", publisherBatch},
	}
}

// stillRunning is when a publisher that has not returned is given up on.
const stillRunning = 30 * time.Second

type publisherEnv struct {
	testing.TB
	h PublisherHarness
	p relay.Publisher
}

func messages(n int) []relay.Message {
	out := make([]relay.Message, n)
	for i := range out {
		out[i] = relay.Message{
			Event: outbox.Event{
				ID: fmt.Sprintf("m-%d", i), Topic: "conformance", Key: "k", Payload: fmt.Appendf(nil, `{"n":%d}`, i),
				Headers: map[string]string{"content-type": "application/json"},
			},
			Seq: int64(i + 1), Attempt: 1, Token: 1, CreatedAt: time.UnixMilli(1_700_000_000_000),
		}
	}
	return out
}

// publish hands ms over as a relay would: all in one call if the publisher takes batches. A panic is a failure.
func (t *publisherEnv) publish(ctx context.Context, ms ...relay.Message) (errs []error) {
	t.Helper()
	type result struct {
		errs     []error
		panicked any
	}
	done := make(chan result, 1)
	go func() {
		var r result
		defer func() {
			r.panicked = recover()
			done <- r
		}()
		if b, ok := t.p.(relay.BatchPublisher); ok {
			r.errs = b.PublishBatch(ctx, ms)
			return
		}
		for _, m := range ms {
			r.errs = append(r.errs, t.p.Publish(ctx, m))
		}
	}()
	select {
	case r := <-done:
		if r.panicked != nil {
			t.Errorf("it panicked: %v", r.panicked)
			return slices.Repeat([]error{errNo}, len(ms))
		}
		if len(r.errs) != len(ms) {
			t.Errorf("%d answers for %d messages", len(r.errs), len(ms))
		}
		return r.errs
	case <-time.After(stillRunning):
		t.Fatalf("it did not return within %v", stillRunning)
		return nil
	}
}

func (t *publisherEnv) mustPublish(ms ...relay.Message) {
	t.Helper()
	for i, err := range t.publish(context.Background(), ms...) {
		if err != nil {
			t.Errorf("message %q: %v", ms[min(i, len(ms)-1)].ID, err)
		}
	}
}

func (t *publisherEnv) wantReceived(want []relay.Message, inOrder bool) {
	t.Helper()
	if t.h.Received == nil {
		return
	}
	got := t.h.Received(t.TB)
	var ids []string
	for _, m := range want {
		ids = append(ids, m.ID)
	}
	if !inOrder {
		got = slices.Sorted(slices.Values(got))
		slices.Sort(ids)
	}
	if !slices.Equal(got, ids) {
		t.Errorf("received %q, want %q", got, ids)
	}
}

func publisherArrives(t *publisherEnv) {
	ms := messages(1)
	t.mustPublish(ms...)
	t.wantReceived(ms, true)
}

func publisherOrder(t *publisherEnv) {
	ms := messages(20)
	for i := range ms[:10] {
		t.mustPublish(ms[i])
	}
	t.mustPublish(ms[10:]...)
	t.wantReceived(ms, true)
}

func publisherEmpty(t *publisherEnv) {
	ms := messages(3)
	ms[0].Payload, ms[0].Headers, ms[0].Key = nil, nil, ""
	ms[1].Payload, ms[1].Headers = []byte{}, map[string]string{}
	t.mustPublish(ms...)
	t.wantReceived(ms, true)
}

func publisherOdd(t *publisherEnv) {
	ms := messages(4)
	ms[0].Payload = []byte("\x00\xff\xfe\r\n\r\n")
	ms[1].Payload = []byte(strings.Repeat("x", outbox.DefaultMaxPayload))
	ms[2].Topic, ms[2].Key = "Tópic /?#& \U0001F600", "k\r\ney\t"
	ms[3].Headers = map[string]string{"Ü ": "a\r\nb: c", "x": "\U0001F600", "content-length": "7"}
	ms[3].ID = "id /?#&\r\n \U0001F600"
	t.mustPublish(ms...)
	t.wantReceived(ms, true)
}

// At least once: a relay that crashed after a hand-over makes it again. Whoever drops doubles does so behind the publisher.
func publisherTwice(t *publisherEnv) {
	m := messages(1)[0]
	t.mustPublish(m)
	m.Attempt = 2
	t.mustPublish(m)
	if t.h.Received != nil && len(t.h.Received(t.TB)) == 0 {
		t.Error("nothing was received")
	}
}

func publisherEnded(t *publisherEnv) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	began := time.Now()
	for _, err := range t.publish(ctx, messages(2)...) {
		if err == nil && t.h.Received != nil && len(t.h.Received(t.TB)) == 0 {
			t.Error("an ended context, nothing arrived, and no error")
		}
	}
	if took := time.Since(began); took > t.h.Limit {
		t.Errorf("it returned after %v, want %v at most", took, t.h.Limit)
	}
}

func publisherDown(t *publisherEnv) {
	if t.h.Down == nil {
		return
	}
	t.h.Down(t.TB)
	ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
	defer cancel()
	began := time.Now()
	for _, err := range t.publish(ctx, messages(2)...) {
		if err == nil {
			t.Error("no error, though the destination is down")
		}
	}
	if took := time.Since(began); took > 200*time.Millisecond+t.h.Limit {
		t.Errorf("it returned %v after its context had ended, want %v at most", took-200*time.Millisecond, t.h.Limit)
	}
}

func publisherConcurrent(t *publisherEnv) {
	ms := messages(64)
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Go(func() {
			for i := w; i < len(ms); i += 8 {
				t.mustPublish(ms[i])
			}
		})
	}
	wg.Wait()
	t.wantReceived(ms, false)
}

func publisherBatch(t *publisherEnv) {
	b, ok := t.p.(relay.BatchPublisher)
	if !ok {
		return
	}
	ms := messages(50)
	for _, n := range []int{1, 2, 47} {
		if answers := b.PublishBatch(context.Background(), ms[:n]); len(answers) != n {
			t.Errorf("%d answers for %d messages", len(answers), n)
		}
	}
	// With its context ended too: whatever it does, one answer each.
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if answers := b.PublishBatch(ctx, ms); len(answers) != len(ms) {
		t.Errorf("%d answers for %d messages, with a context that has ended", len(answers), len(ms))
	}
}
