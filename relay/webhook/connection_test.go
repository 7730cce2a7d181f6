package webhook

import (
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// A try leaves no connection behind: a peer that accepts and says nothing would have all of this process's in the end.
func TestATryThatTimesOutLeavesNoConnection(t *testing.T) {
	ended := make(chan struct{})
	e := raw(t, func(c net.Conn) {
		io.Copy(io.Discard, c) // until the client is gone
		ended <- struct{}{}
	}).within(shortly)
	e.url = strings.Replace(e.url, "http:", "https:", 1)
	opts := e.opts.withDefaults()
	c := newClient(&opts)
	defer c.close()
	for range 3 {
		if a := c.post(t.Context(), e.url, http.Header{}, nil); a.err == nil || !strings.Contains(a.err.Error(), "TLS handshake timeout") {
			t.Errorf("error %v", a.err)
		}
		select {
		case <-ended:
		case <-time.After(10 * time.Second):
			t.Fatal("the connection stays open")
		}
	}
}

// Over HTTP/2 a request that timed out leaves its connection to the next one, on which it would time out too.
func TestAConnectionWhosePeerHasVanishedIsNotUsedAgain(t *testing.T) {
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	s.EnableHTTP2 = true
	s.StartTLS()
	t.Cleanup(s.Close)
	var vanished atomic.Bool // for the connections there are
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	connections := 0
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			connections++
			first := connections == 1
			go between(c, s.Listener.Addr().String(), func() bool { return first && vanished.Load() })
		}
	}()
	roots := x509.NewCertPool()
	roots.AddCert(s.Certificate())
	opts := (&Options{AllowPrivate: true, RootCAs: roots, Timeout: 2 * time.Second}).withDefaults()
	c := newClient(&opts)
	defer c.close()
	post := func() error {
		return c.post(t.Context(), "https://"+l.Addr().String(), http.Header{}, nil).err
	}
	if err := post(); err != nil {
		t.Fatal(err)
	}
	vanished.Store(true)
	if err := post(); err == nil {
		t.Fatal("the first connection was not used again: there is nothing to see here")
	}
	if err := post(); err != nil {
		t.Error("the vanished connection was used once more:", err)
	}
}

// between passes bytes on, and swallows them while silent says so.
func between(c net.Conn, address string, silent func() bool) {
	defer c.Close()
	server, err := net.Dial("tcp", address)
	if err != nil {
		return
	}
	defer server.Close()
	pass := func(to, from net.Conn) {
		defer to.Close()
		for page := make([]byte, 4096); ; {
			n, err := from.Read(page)
			if err != nil {
				return
			}
			if !silent() {
				if _, err := to.Write(page[:n]); err != nil {
					return
				}
			}
		}
	}
	go pass(server, c)
	pass(c, server)
}
