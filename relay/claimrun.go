package relay

import (
	"context"
	"time"
)

// run hands a claim over, extends it while that takes long, and settles it.
func (c *claimer) run(cl *claim) {
	r := c.r
	pubCtx, cancel := context.WithCancelCause(context.WithoutCancel(c.ctx))
	defer cancel(nil)
	ser := r.newSeries(pubCtx, &cl.deadline, cl.events, false)
	ser.start(r.opts.Concurrency, c.slots)
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		<-ser.drained
		c.results <- claimResult{}
	}()
	settled := make([]bool, len(cl.events))
	var res claimResult
	extended := r.now().mono
	r.supervise(c.ctx, c.s.gone, ser, cancel, func() {
		if r.now().mono-extended >= r.opts.Lease/3 {
			extended = r.now().mono
			c.extend(cl, ser, settled, cancel)
		}
		c.settle(cl, ser, settled, false, &res)
	})
	c.settle(cl, ser, settled, true, &res)
	<-drained
	res.over = true
	c.results <- res
}

// extend keeps what is not settled claimed for another lease.
func (c *claimer) extend(cl *claim, ser *series, settled []bool, cancel context.CancelCauseFunc) {
	var seqs []int64
	for i, e := range cl.events {
		if !settled[i] {
			seqs = append(seqs, e.msg.Seq)
		}
	}
	if len(seqs) == 0 {
		return
	}
	from := c.r.now()
	ctx, stop := context.WithTimeout(context.WithoutCancel(c.ctx), max(cl.deadline.left(), time.Second))
	defer stop()
	n, err := c.r.extendClaim(ctx, cl.id, seqs)
	switch {
	case err != nil:
		c.r.log.Warn("a claim could not be extended yet", "error", err, "left", cl.deadline.left())
	case n == 0:
		ser.stop.Store(true)
		cancel(ErrLeaseLost)
	default:
		cl.deadline.extend(from, c.r.opts.Lease)
	}
}

// settle records the outcomes that are there and not recorded yet; at the end, everything else is given back.
func (c *claimer) settle(cl *claim, ser *series, settled []bool, end bool, res *claimResult) {
	var all []ended
	var index []int
	for i, e := range cl.events {
		if settled[i] {
			continue
		}
		o, ok := ser.outcome(i)
		if !ok && !end {
			continue
		}
		all, index = append(all, ended{e, o}), append(index, i)
	}
	if len(all) == 0 {
		return
	}
	limit := max(cl.deadline.left(), 2*time.Second)
	if c.ctx.Err() != nil {
		limit = min(limit, max(c.r.opts.ShutdownTimeout, 2*time.Second))
	}
	ctx, stop := context.WithTimeout(context.WithoutCancel(c.ctx), limit)
	defer stop()
	if err := c.r.settleClaim(ctx, cl.id, all); err != nil {
		if end {
			res.err = err
		}
		return // tried again at the next tick
	}
	for j, i := range index {
		settled[i] = true
		if all[j].o.verdict != untouched {
			res.handed++
		}
		if all[j].o.verdict == unavailable {
			res.unavailable, res.wait = all[j].o.err, max(res.wait, all[j].o.wait)
		}
	}
	res.published += c.r.tell(all)
}
