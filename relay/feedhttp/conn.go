package feedhttp

import (
	"context"
	"net"
	"net/http"
)

// sendBuffer is how many bytes of a feed a connection's buffer holds, about.
const sendBuffer = 64 << 10

type connKey struct{}

// ConnContext is for http.Server.ConnContext, and shows a Handler its HTTP/1 connections: it then has the system hold little
// of what a client has not taken, so that WriteTimeout is for some ten kilobytes, or some hundred where the client's own system
// holds megabytes. Without it the system here holds up to megabytes,
// and takes more only when a third of those has gone (on Linux 1.3 MB of 4): a client that takes less than that in WriteTimeout
// looks like one that takes nothing. In HTTP/2 the client's own window does it.
func ConnContext(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, c)
}

// holdLittle bounds the send buffer of a request's connection, where there is a way to it.
func holdLittle(r *http.Request) {
	if r.ProtoMajor != 1 {
		return
	}
	c, _ := r.Context().Value(connKey{}).(net.Conn)
	if under, ok := c.(interface{ NetConn() net.Conn }); ok { // TLS
		c = under.NetConn()
	}
	if c, ok := c.(interface{ SetWriteBuffer(int) error }); ok {
		_ = c.SetWriteBuffer(sendBuffer) // at worst it is as without
	}
}
