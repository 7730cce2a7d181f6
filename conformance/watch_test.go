package conformance_test

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"testing"

	"github.com/sqloutbox/sqloutbox/conformance"
)

// watched is a test whose failures are kept, and fail nobody.
type watched struct {
	testing.TB

	mu       sync.Mutex // guards what follows
	failures []string
	skips    []string // why
	cleanups []func()
}

// watch runs one case and answers how it failed.
func watch(t *testing.T, c conformance.Case, h conformance.Harness) []string {
	t.Helper()
	return failuresOf(t, func(t testing.TB) { c.Run(t, h) })
}

// failuresOf fails the test itself if it is skipped, which shows nothing.
func failuresOf(t *testing.T, run func(t testing.TB)) []string {
	t.Helper()
	w := &watched{TB: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer w.cleanUp()
		run(w)
	}()
	<-done
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.skips) > 0 {
		t.Errorf("was skipped: %q", w.skips)
	}
	return w.failures
}

// cleanUp runs what was registered, last first, each to its end even if it calls FailNow.
func (w *watched) cleanUp() {
	for {
		w.mu.Lock()
		n := len(w.cleanups)
		if n == 0 {
			w.mu.Unlock()
			return
		}
		f := w.cleanups[n-1]
		w.cleanups = w.cleanups[:n-1]
		w.mu.Unlock()
		done := make(chan struct{})
		go func() {
			defer close(done)
			f()
		}()
		<-done
	}
}

func (w *watched) add(text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.failures = append(w.failures, text)
}

func (w *watched) Cleanup(f func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cleanups = append(w.cleanups, f)
}

func (w *watched) skip(why string) {
	w.mu.Lock()
	w.skips = append(w.skips, why)
	w.mu.Unlock()
	runtime.Goexit()
}

func (w *watched) Skipped() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.skips) > 0
}

func (w *watched) Failed() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.failures) > 0
}

func (w *watched) Context() context.Context          { return context.Background() }
func (w *watched) Log(...any)                        {}
func (w *watched) Logf(string, ...any)               {}
func (w *watched) Fail()                             { w.add("Fail") }
func (w *watched) FailNow()                          { w.add("FailNow"); runtime.Goexit() }
func (w *watched) Error(args ...any)                 { w.add(fmt.Sprint(args...)) }
func (w *watched) Errorf(format string, args ...any) { w.add(fmt.Sprintf(format, args...)) }
func (w *watched) Fatal(args ...any)                 { w.add(fmt.Sprint(args...)); runtime.Goexit() }
func (w *watched) Fatalf(format string, args ...any) {
	w.add(fmt.Sprintf(format, args...))
	runtime.Goexit()
}
func (w *watched) SkipNow()                         { w.skip("SkipNow") }
func (w *watched) Skip(args ...any)                 { w.skip(fmt.Sprint(args...)) }
func (w *watched) Skipf(format string, args ...any) { w.skip(fmt.Sprintf(format, args...)) }
