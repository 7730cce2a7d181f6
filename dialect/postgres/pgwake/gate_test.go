package pgwake

import (
	"context"
	"errors"
	"net"
	"sync"
)

var errShut = errors.New("the gate is shut")

// gate is a network between a Notifier and the server, which a test can cut.
type gate struct {
	mu      sync.Mutex // guards the rest
	shut    bool
	conns   []*gated
	dialled chan struct{} // if set: each attempt tells it that it has begun, and tells it again to go on
}

func (g *gate) put(n *Notifier) { n.config.DialFunc = g.dial }

func (g *gate) dial(ctx context.Context, network, address string) (net.Conn, error) {
	g.mu.Lock()
	dialled, shut := g.dialled, g.shut
	g.mu.Unlock()
	for i := 0; dialled != nil && i < 2; i++ {
		select {
		case dialled <- struct{}{}:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	if shut {
		return nil, errShut
	}
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	c := &gated{Conn: conn}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.conns = append(g.conns, c)
	return c, nil
}

// close breaks every connection and lets no other through until open.
func (g *gate) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.shut = true
	for _, c := range g.conns {
		c.Conn.Close()
	}
}

func (g *gate) open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.shut = false
}

// swallow has nothing arrive any more on the connections that there are, in either direction, and nobody is told.
func (g *gate) swallow() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, c := range g.conns {
		c.mu.Lock()
		c.swallowed = true
		c.mu.Unlock()
	}
}

type gated struct {
	net.Conn
	mu        sync.Mutex // guards swallowed
	swallowed bool
}

func (c *gated) isSwallowed() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.swallowed
}

func (c *gated) Read(p []byte) (int, error) {
	for {
		n, err := c.Conn.Read(p)
		if err != nil || !c.isSwallowed() {
			return n, err
		}
	}
}

func (c *gated) Write(p []byte) (int, error) {
	if c.isSwallowed() {
		return len(p), nil
	}
	return c.Conn.Write(p)
}
