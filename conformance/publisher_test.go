package conformance_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/sqloutbox/sqloutbox/conformance"
	"github.com/sqloutbox/sqloutbox/relay"
)

// memory is a publisher and its destination.
type memory struct {
	mu   sync.Mutex // guards what follows
	ids  []string
	down bool
}

func (p *memory) Publish(ctx context.Context, m relay.Message) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.down {
		return relay.Unavailable(errors.New("down"))
	}
	p.ids = append(p.ids, m.ID)
	return nil
}

func (p *memory) received() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string(nil), p.ids...)
}

// batched is memory that takes batches.
type batched struct{ *memory }

func (p batched) PublishBatch(ctx context.Context, ms []relay.Message) []error {
	errs := make([]error, len(ms))
	for i, m := range ms {
		errs[i] = p.Publish(ctx, m)
	}
	return errs
}

// publisherHarness puts a broken or whole publisher on a new destination each time.
func publisherHarness(make func(*memory) relay.Publisher) conformance.PublisherHarness {
	var newest *memory
	return conformance.PublisherHarness{
		New: func(testing.TB) relay.Publisher {
			newest = &memory{}
			return make(newest)
		},
		Received: func(testing.TB) []string { return newest.received() },
		Down: func(testing.TB) {
			newest.mu.Lock()
			defer newest.mu.Unlock()
			newest.down = true
		},
		Limit: 100e6,
	}
}

func TestPublishersConform(t *testing.T) {
	t.Run("one", func(t *testing.T) {
		conformance.RunPublisher(t, publisherHarness(func(m *memory) relay.Publisher { return m }))
	})
	t.Run("batch", func(t *testing.T) {
		conformance.RunPublisher(t, publisherHarness(func(m *memory) relay.Publisher { return batched{m} }))
	})
}

type publishFunc = func(ctx context.Context, m relay.Message) error

func TestBrokenPublishersAreCaughtByTheCaseThatNamesTheRule(t *testing.T) {
	one := func(f func(p *memory) publishFunc) func(*memory) relay.Publisher {
		return func(m *memory) relay.Publisher { return relay.PublisherFunc(f(m)) }
	}
	tests := []struct {
		name, rule string
		make       func(*memory) relay.Publisher
	}{
		{"drops in silence", "what is answered with nil has arrived", one(func(*memory) publishFunc {
			return func(context.Context, relay.Message) error { return nil }
		})},
		{"sends later", "messages arrive in the order of their calls", one(func(p *memory) publishFunc {
			var held *relay.Message
			return func(ctx context.Context, m relay.Message) error {
				if m.Seq%2 == 1 {
					held = &m
					return nil
				}
				_ = p.Publish(ctx, m)
				return p.Publish(ctx, *held)
			}
		})},
		{"reads the first byte", "an empty payload, no headers and no key are no fault", one(func(p *memory) publishFunc {
			return func(ctx context.Context, m relay.Message) error {
				_ = m.Payload[0]
				return p.Publish(ctx, m)
			}
		})},
		{"refuses what is large", "any payload, headers and texts are taken", one(func(p *memory) publishFunc {
			return func(ctx context.Context, m relay.Message) error {
				if len(m.Payload) > 1<<16 {
					return relay.Permanent(errors.New("too large"))
				}
				return p.Publish(ctx, m)
			}
		})},
		{"refuses doubles", "a message that is handed over twice is taken twice", one(func(p *memory) publishFunc {
			return func(ctx context.Context, m relay.Message) error {
				if m.Attempt > 1 {
					return relay.Permanent(errors.New("a double"))
				}
				return p.Publish(ctx, m)
			}
		})},
		{"asks for no context", "a context that has ended is an error", one(func(p *memory) publishFunc {
			return func(ctx context.Context, m relay.Message) error {
				_ = p.Publish(ctx, m)
				return nil
			}
		})},
		{"takes a refusal for success", "a destination that is down is an error, and the context ends the wait for it", one(func(p *memory) publishFunc {
			return func(ctx context.Context, m relay.Message) error {
				_ = p.Publish(ctx, m)
				return nil
			}
		})},
		{"loses when hurried", "many calls at once are safe", one(func(p *memory) publishFunc {
			var busy sync.Mutex
			return func(ctx context.Context, m relay.Message) error {
				if m.Seq%16 == 0 || !busy.TryLock() {
					return nil
				}
				defer busy.Unlock()
				return p.Publish(ctx, m)
			}
		})},
		{"one answer for all", "a batch has one answer a message", func(p *memory) relay.Publisher { return oneAnswer{p} }},
	}
	cases := map[string]conformance.PublisherCase{}
	for _, c := range conformance.PublisherCases() {
		cases[c.Name] = c
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			failures := failuresOf(t, func(t testing.TB) { cases[test.rule].Run(t, publisherHarness(test.make)) })
			if len(failures) == 0 {
				t.Errorf("was not caught by %q", test.rule)
			}
			delete(cases, test.rule)
		})
	}
	for name := range cases {
		t.Errorf("nothing shows that the case %q can fail", name)
	}
}

// oneAnswer answers a batch as a whole.
type oneAnswer struct{ *memory }

func (p oneAnswer) PublishBatch(ctx context.Context, ms []relay.Message) []error {
	for _, m := range ms {
		if err := p.Publish(ctx, m); err != nil {
			return []error{err}
		}
	}
	return nil
}
