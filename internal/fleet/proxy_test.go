package fleet

import (
	"io"
	"net"
	"net/url"
	"sync"
	"testing"
)

// proxy stands between relays and a server, and can be cut.
type proxy struct {
	target  string
	address string
	running sync.WaitGroup

	mu       sync.Mutex // guards the rest
	listener net.Listener
	refusing bool
	hole     chan struct{} // closed: what is connected from now on, or was before, is swallowed
	pairs    map[*pair]struct{}
}

// pair is one client's connection and its continuation to the server.
type pair struct {
	client, server net.Conn
	hole           <-chan struct{}
}

// newProxy answers the database's URL through the proxy.
func newProxy(t *testing.T, address string) (*proxy, string) {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{target: u.Host, hole: make(chan struct{}), pairs: make(map[*pair]struct{})}
	if err := p.listen("127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	p.address = p.listener.Addr().String()
	t.Cleanup(func() {
		p.refuse()
		p.running.Wait()
	})
	u.Host = p.address
	return p, u.String()
}

func (p *proxy) listen(address string) error {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	p.listener = listener
	p.running.Go(func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			p.connect(c)
		}
	})
	return nil
}

func (p *proxy) connect(client net.Conn) {
	server, err := net.Dial("tcp", p.target)
	if err != nil {
		_ = client.Close()
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.refusing {
		_ = client.Close()
		_ = server.Close()
		return
	}
	x := &pair{client: client, server: server, hole: p.hole}
	p.pairs[x] = struct{}{}
	p.running.Go(func() {
		var both sync.WaitGroup
		both.Go(func() { x.carry(server, client) })
		both.Go(func() { x.carry(client, server) })
		both.Wait()
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.pairs, x)
	})
}

// carry copies until an end; in a black hole it goes on reading and drops everything, the end too.
func (x *pair) carry(to, from net.Conn) {
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		select {
		case <-x.hole:
			if err != nil {
				return
			}
			continue
		default:
		}
		if err == nil {
			_, err = to.Write(buffer[:n])
		}
		if err != nil {
			_ = to.Close()
			_ = from.Close()
			if err != io.EOF {
				return
			}
			return
		}
	}
}

// refuse closes every connection and takes no more.
func (p *proxy) refuse() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refusing = true
	_ = p.listener.Close()
	for x := range p.pairs {
		_ = x.client.Close()
		_ = x.server.Close()
	}
}

// accept takes connections again.
func (p *proxy) accept(t *testing.T) {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refusing = false
	if err := p.listen(p.address); err != nil {
		t.Fatal(err)
	}
}

// swallow makes black holes of all connections, as a firewall does that has lost its state: nothing arrives on them any
// more in either direction, and nobody is told. The server ends its side. New connections are black holes too until
// newRoute.
func (p *proxy) swallow() {
	p.mu.Lock()
	defer p.mu.Unlock()
	close(p.hole)
	for x := range p.pairs {
		_ = x.server.Close()
	}
}

// newRoute lets new connections through; those that were swallowed stay so.
func (p *proxy) newRoute() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hole = make(chan struct{})
}
