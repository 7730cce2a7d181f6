package webhook

import (
	"crypto/x509"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"
	"time"
)

func (e endpoint) within(d time.Duration) endpoint {
	e.opts.Timeout = d
	return e
}

func longButAllowed(t *testing.T) endpoint {
	e := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.Write(make([]byte, 1000)) })
	e.opts.MaxAnswer = 1000
	return e
}

func oversized(t *testing.T) endpoint {
	e := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.Write(make([]byte, 1001)) })
	e.opts.MaxAnswer = 1000
	return e
}

func redirectToTrap(t *testing.T) endpoint {
	trap := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("the redirect was followed") })
	return status(307, "Location", trap.url)(t)
}

func notFound(t *testing.T) endpoint {
	return endpoint{"http://nowhere.invalid/", Options{AllowHTTP: true, AllowPrivate: true}}
}

func guarded(t *testing.T) endpoint {
	e := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("the guard let it through") })
	e.opts.AllowPrivate = false
	return e
}

func refused(t *testing.T) endpoint {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	return endpoint{"http://" + l.Addr().String(), Options{AllowHTTP: true, AllowPrivate: true}}
}

// raw serves connections by hand.
func raw(t *testing.T, each func(net.Conn)) endpoint {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				c.Read(make([]byte, 4096))
				each(c)
			}()
		}
	}()
	return endpoint{"http://" + l.Addr().String(), Options{AllowHTTP: true, AllowPrivate: true}}
}

func reset(t *testing.T) endpoint {
	return raw(t, func(c net.Conn) { c.(*net.TCPConn).SetLinger(0) })
}

func closed(t *testing.T) endpoint {
	return raw(t, func(c net.Conn) { io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf") })
}

func notHTTP(t *testing.T) endpoint {
	return raw(t, func(c net.Conn) { io.WriteString(c, "220 smtp.example ESMTP\r\n") })
}

func secure(t *testing.T) (*httptest.Server, endpoint) {
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	s.Config.ErrorLog = log.New(io.Discard, "", 0) // it has much to say of clients that hang up
	s.StartTLS()
	t.Cleanup(s.Close)
	roots := x509.NewCertPool()
	roots.AddCert(s.Certificate())
	return s, endpoint{s.URL, Options{AllowPrivate: true, RootCAs: roots}}
}

func TestARequestOverTLSIsDone(t *testing.T) {
	if _, e := secure(t); try(t, e).err != nil {
		t.Error(try(t, e).err)
	}
}

func unknownCA(t *testing.T) endpoint {
	_, e := secure(t)
	e.opts.RootCAs = x509.NewCertPool()
	return e
}

func wrongName(t *testing.T) endpoint {
	_, e := secure(t)
	e.url = strings.Replace(e.url, "127.0.0.1", "localhost", 1)
	return e
}

func plainBehindHTTPS(t *testing.T) endpoint {
	e := status(200)(t)
	e.url = strings.Replace(e.url, "http:", "https:", 1)
	return e
}

func hanging(t *testing.T) endpoint {
	return serve(t, func(_ http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body) // so that the end of the connection is seen
		<-r.Context().Done()
	}).within(shortly)
}

// switched answers as if it had been asked for another protocol, and leaves the connection open.
func switched(t *testing.T) endpoint {
	over := make(chan struct{})
	t.Cleanup(func() { close(over) })
	return raw(t, func(c net.Conn) {
		io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n")
		<-over
	})
}

// silent accepts no connection: the kernel does, and nobody reads.
func silent(t *testing.T) endpoint {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	e := endpoint{"https://" + l.Addr().String(), Options{AllowPrivate: true}}
	return e.within(shortly)
}

// unreachable answers no SYN: the kernel's queue of connections that nobody accepts is full.
func unreachable(t *testing.T) endpoint {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { syscall.Close(fd) })
	if err := syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Listen(fd, 0); err != nil {
		t.Fatal(err)
	}
	name, err := syscall.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	address := fmt.Sprintf("127.0.0.1:%d", name.(*syscall.SockaddrInet4).Port)
	for { // until one is no longer answered
		c, err := net.DialTimeout("tcp", address, shortly/2)
		if err != nil {
			break
		}
		t.Cleanup(func() { c.Close() })
	}
	return endpoint{"https://" + address, Options{AllowPrivate: true}}.within(shortly)
}

func halfAnswer(t *testing.T) endpoint {
	return serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "100")
		io.WriteString(w, "half")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}).within(shortly)
}

func trickling(t *testing.T) endpoint {
	return serve(t, func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			io.WriteString(w, ".")
			w.(http.Flusher).Flush()
			time.Sleep(10 * time.Millisecond)
		}
	}).within(shortly)
}

func flooding(t *testing.T) endpoint {
	return serve(t, func(w http.ResponseWriter, r *http.Request) {
		for page := make([]byte, 4096); r.Context().Err() == nil; {
			if _, err := w.Write(page); err != nil {
				return
			}
		}
	})
}

func endlessHeaders(t *testing.T) endpoint {
	return raw(t, func(c net.Conn) {
		io.WriteString(c, "HTTP/1.1 200 OK\r\n")
		for {
			if _, err := io.WriteString(c, "X-More: "+strings.Repeat("x", 1000)+"\r\n"); err != nil {
				return
			}
		}
	})
}
