package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"sync"
	"time"
)

// screen shows how far things are: one line that is rewritten on a terminal, and a plain line a second elsewhere.
type screen struct {
	terminal bool

	mu     sync.Mutex // guards what follows
	out    io.Writer
	status string    // on the terminal's last line now
	last   time.Time // when a plain status line was printed
}

func newScreen(out io.Writer) *screen {
	s := &screen{out: out, last: time.Now()}
	if file, ok := out.(*os.File); ok {
		info, err := file.Stat()
		s.terminal = err == nil && info.Mode()&os.ModeCharDevice != 0
	}
	return s
}

// eraseLine goes to the start of the line and clears it.
const eraseLine = "\r\x1b[K"

// printf prints a line that stays.
func (s *screen) printf(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.terminal {
		fmt.Fprint(s.out, eraseLine)
	}
	fmt.Fprintf(s.out, format+"\n", args...)
	fmt.Fprint(s.out, s.status)
}

// progress shows a line that takes the last one's place.
func (s *screen) progress(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	text := fmt.Sprintf(format, args...)
	switch {
	case s.terminal && text == s.status:
	case s.terminal:
		s.status = text
		fmt.Fprint(s.out, eraseLine, text)
	case time.Since(s.last) >= time.Second:
		s.last = time.Now()
		fmt.Fprintln(s.out, text)
	}
}

// clear takes the progress line away.
func (s *screen) clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.terminal {
		fmt.Fprint(s.out, eraseLine)
	}
	s.status = ""
}

// lines is a writer for a child's output: each whole line is printed under the child's name.
func (s *screen) lines(name string) io.Writer { return &lineWriter{screen: s, name: name} }

type lineWriter struct {
	screen *screen
	name   string
	rest   []byte
}

func (w *lineWriter) Write(p []byte) (int, error) {
	w.rest = append(w.rest, p...)
	for {
		line, rest, found := bytes.Cut(w.rest, []byte("\n"))
		if !found {
			return len(p), nil
		}
		w.screen.printf("%s: %s", w.name, line)
		w.rest = rest
	}
}
