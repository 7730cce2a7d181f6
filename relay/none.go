package relay

import (
	"context"
	"errors"
	"time"
)

// claimer is the loop of OrderNone: it claims ahead while workers hand over, and every claim is settled by itself.
type claimer struct {
	r       *Relay
	s       *session
	ctx     context.Context
	slots   chan struct{} // Concurrency workers over all claims
	results chan claimResult
	open    int  // claims in hand
	ahead   int  // of them, those with calls still to start
	alone   bool // one in hand is to be alone
	waiting bool // lapsed claims wait until nothing is in hand

	handed, published int
	unavailable       error
	wait              time.Duration
}

// claimResult comes twice from each claim: drained when all its calls have started, over when it is settled.
type claimResult struct {
	over        bool
	handed      int
	published   int
	unavailable error
	wait        time.Duration
	err         error
}

// claimsAhead is how many claims may have calls still to start: one that is worked on, and one to follow.
const claimsAhead = 2

// none works beside any number of other relays. It returns when the mode says so or ctx ends, with nothing in hand.
func (r *Relay) none(ctx context.Context, s *session, m mode) (int, error) {
	c := &claimer{
		r: r, s: s, ctx: ctx,
		slots:   make(chan struct{}, r.opts.Concurrency),
		results: make(chan claimResult, 1),
	}
	err := c.loop(m)
	for c.open > 0 {
		if e := c.collect(<-c.results); e != nil {
			err = errors.Join(err, e)
		}
	}
	if err == nil && r.stuck.any() != nil {
		err = ErrStuck
	}
	return c.published, err
}

func (c *claimer) loop(m mode) error {
	var idle idleWait
	refused := 0
	for c.ctx.Err() == nil {
		if c.s.isLost() {
			return ErrLeaseLost
		}
		if c.unavailable != nil && c.open == 0 {
			if m != forever {
				return nilUnless(m == dry, c.unavailable)
			}
			refused++
			wait := max(c.wait, jitter(backoff(c.r.opts.Backoff, c.r.opts.BackoffMax, refused)))
			c.unavailable, c.wait = nil, 0
			c.r.pause(c.ctx, c.s, wait, false)
			continue
		}
		if c.mayClaim() {
			n, err := c.claim()
			switch {
			case err != nil && m != forever:
				return err
			case err != nil:
				c.r.log.Warn("claim failed", "error", err)
				c.r.pause(c.ctx, c.s, idle.afterError(c.r.opts), false)
				continue
			case m == once:
				return nil
			case n > 0:
				refused = 0
				idle.reset()
				continue
			}
		}
		if c.open > 0 {
			if err := c.awaitClaims(&idle); err != nil && m != forever {
				return err
			}
			continue
		}
		over, err := c.await(m, &idle)
		if err != nil && m != forever {
			return err
		}
		if over {
			return nil
		}
	}
	return nil
}

func (c *claimer) mayClaim() bool {
	return c.ahead < claimsAhead && !c.alone && c.unavailable == nil && (!c.waiting || c.open == 0)
}

// claim takes a batch in hand and sets it going; n counts what it found to do.
func (c *claimer) claim() (n int, err error) {
	if err := c.s.probeSometimes(c.ctx); err != nil {
		return 0, err
	}
	cl, buried, waiting, err := c.s.claim(c.ctx, c.open == 0)
	if err != nil {
		return 0, err
	}
	c.waiting = waiting
	c.r.tell(buried)
	if len(cl.events) == 0 {
		return len(buried), nil
	}
	c.r.claimed(len(cl.events))
	c.open++
	c.ahead++
	c.alone = cl.alone
	go c.run(cl)
	return len(buried) + len(cl.events), nil
}

// collect takes in one message of a claim.
func (c *claimer) collect(res claimResult) error {
	if !res.over {
		c.ahead--
		return nil
	}
	c.open--
	c.alone = false
	c.handed += res.handed
	c.published += res.published
	if res.unavailable != nil {
		c.unavailable, c.wait = res.unavailable, max(c.wait, res.wait)
	}
	if res.err != nil {
		c.r.log.Warn("a claim could not be settled; it lapses and is claimed again", "error", res.err)
	}
	return res.err
}

// awaitClaims waits for news of what is in hand; if more could be claimed, also for a wake-up or the next look.
func (c *claimer) awaitClaims(idle *idleWait) error {
	var timer <-chan time.Time
	var wake chan struct{}
	if c.mayClaim() {
		timer, wake = time.After(idle.next(c.r.opts)), c.r.wake
	}
	select {
	case res := <-c.results:
		return c.collect(res)
	case <-timer:
	case <-wake:
	case <-c.ctx.Done():
	case <-c.s.gone:
	}
	return nil
}

// await waits with nothing in hand and nothing claimed. Due events that can't be claimed are another relay's for the
// moment: that is not the same as nothing to do.
func (c *claimer) await(m mode, idle *idleWait) (over bool, err error) {
	signs, err := c.s.probeNow(c.ctx)
	if err != nil {
		c.r.log.Warn("look for work failed", "error", err)
		c.r.pause(c.ctx, c.s, idle.afterError(c.r.opts), false)
		return false, err
	}
	if signs.pending <= 0 {
		c.r.pause(c.ctx, c.s, jitter(10*time.Millisecond), true)
		return false, nil
	}
	if m != forever {
		return true, nil
	}
	wait := min(signs.pending, signs.scheduled)
	if c.r.pause(c.ctx, c.s, min(idle.next(c.r.opts), wait), true) {
		return false, nil
	}
	return false, c.r.awaitWork(c.ctx, c.s, idle, never)
}
