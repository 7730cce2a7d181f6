package feedhttp

import (
	"bufio"
	"net/http"
	"time"
)

// chunk is what a client must take in before the write deadline.
const chunk = 32 << 10

// writer sends with a deadline for each chunk, so that a client that takes nothing is cut off, and one that is slow is not: as
// far as what it takes can be seen from here, see ConnContext.
// Between writes there is none: HTTP/2 resets a stream whose deadline has passed though nothing is being written.
type writer struct {
	*bufio.Writer
	below *deadlines
}

// newWriter answers a writer, and an error if w has no deadlines, as under a middleware that hides them; it writes all the
// same.
func newWriter(w http.ResponseWriter, timeout time.Duration) (*writer, error) {
	d := &deadlines{w, http.NewResponseController(w), timeout}
	return &writer{bufio.NewWriterSize(d, chunk), d}, d.clear()
}

// send passes on what is buffered, all the way.
func (w *writer) send() error {
	if err := w.Flush(); err != nil {
		return err
	}
	w.below.extend()
	err := w.below.control.Flush()
	if err == nil {
		err = w.below.clear()
	}
	return err
}

// finish passes on the rest, and leaves a deadline to what the server writes when the handler has returned. It then takes
// the deadline away by itself.
func (w *writer) finish() {
	_ = w.Flush() // nobody is left to tell
	w.below.extend()
}

type deadlines struct {
	w       http.ResponseWriter
	control *http.ResponseController
	timeout time.Duration
}

func (d *deadlines) extend() {
	_ = d.control.SetWriteDeadline(time.Now().Add(d.timeout)) // newWriter has told if it can't be
}

func (d *deadlines) clear() error { return d.control.SetWriteDeadline(time.Time{}) }

func (d *deadlines) Write(p []byte) (n int, err error) {
	for n < len(p) && err == nil {
		var m int
		d.extend()
		m, err = d.w.Write(p[n:min(n+chunk, len(p))])
		n += m
	}
	return n, err
}
