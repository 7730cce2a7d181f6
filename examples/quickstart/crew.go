package main

import (
	"errors"
	"fmt"
	"sync"
	"time"
)

// crew is the relay processes of one run.
type crew struct {
	gone chan struct{} // closed when one has ended that was neither killed nor stopped

	mu       sync.Mutex // guards what follows
	members  []*child
	stopping bool
	killed   string
	killedAt time.Time
	cause    error // why gone is closed
}

func newCrew() *crew { return &crew{gone: make(chan struct{})} }

func (c *crew) add(m *child) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.members = append(c.members, m)
	go func() {
		<-m.done
		c.ended(m)
	}()
}

// ended notes the end of a relay that was expected to go on.
func (c *crew) ended(m *child) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopping || m.name == c.killed || c.cause != nil {
		return
	}
	c.cause = fmt.Errorf("%s ended by itself: %w", m.name, errors.Join(m.err, errors.New("see its lines above")))
	close(c.gone)
}

// kill kills the relay of that name.
func (c *crew) kill(name string) {
	c.mu.Lock()
	var victim *child
	for _, m := range c.members {
		if m.name == name {
			victim = m
			c.killed, c.killedAt = name, time.Now()
		}
	}
	c.mu.Unlock()
	if victim != nil {
		victim.kill()
	}
}

// victim is who was killed, and when.
func (c *crew) victim() (name string, at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.killed, c.killedAt
}

// failure is why gone is closed.
func (c *crew) failure() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.cause
}

// stop ends all relays in order and waits for them. A second call does nothing.
func (c *crew) stop() error {
	c.mu.Lock()
	if c.stopping {
		c.mu.Unlock()
		return nil
	}
	c.stopping = true
	members, killed := c.members, c.killed
	c.mu.Unlock()
	var errs []error
	for _, m := range members {
		if err := m.stop(); err != nil && m.name != killed {
			errs = append(errs, fmt.Errorf("stop %s: %w", m.name, err))
		}
	}
	return errors.Join(errs...)
}
