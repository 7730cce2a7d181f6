package feedhttp

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// recorder notes which writes were under a deadline.
type recorder struct {
	http.ResponseWriter
	deadline time.Time
	writes   []int
	flushes  int
	bare     int // writes and flushes without a deadline
	err      error
}

func (r *recorder) SetWriteDeadline(t time.Time) error {
	r.deadline = t
	return r.err
}

func (r *recorder) Write(p []byte) (int, error) {
	r.writes = append(r.writes, len(p))
	r.look()
	return len(p), nil
}

func (r *recorder) FlushError() error {
	r.flushes++
	r.look()
	return nil
}

func (r *recorder) look() {
	if r.deadline.IsZero() {
		r.bare++
	}
}

// A client may take as long as it needs for the whole, and is not cut off while there is nothing to send.
func TestEachChunkHasADeadlineOfItsOwn(t *testing.T) {
	r := &recorder{ResponseWriter: httptest.NewRecorder()}
	w, err := newWriter(r, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{1, 3*chunk + 5, 7} {
		if _, err := w.Write(make([]byte, n)); err != nil {
			t.Fatal(err)
		}
		if err := w.send(); err != nil {
			t.Fatal(err)
		}
		if !r.deadline.IsZero() {
			t.Errorf("after %d bytes there is a deadline left", n)
		}
	}
	sum := 0
	for _, n := range r.writes {
		if sum += n; n > chunk {
			t.Errorf("%d bytes at once", n)
		}
	}
	if sum != 1+3*chunk+5+7 || r.flushes != 3 || r.bare != 0 {
		t.Errorf("%d bytes, %d flushes, %d without a deadline", sum, r.flushes, r.bare)
	}
	if w.finish(); r.deadline.IsZero() {
		t.Error("what the server writes in the end has no deadline")
	}
	if _, err := newWriter(&recorder{ResponseWriter: httptest.NewRecorder(), err: http.ErrNotSupported}, time.Hour); !errors.Is(err, http.ErrNotSupported) {
		t.Errorf("no deadlines: %v", err)
	}
}
