package fleet

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/sqloutbox/sqloutbox/internal/racing"
	"github.com/sqloutbox/sqloutbox/relay"
)

// fleet starts relay processes on one database. Its methods may be called by any goroutine of the test.
type fleet struct {
	t       *testing.T
	url     string
	rc      *receiver
	options relay.Options
	dialect string // in place of the URL's own

	handlers []string // of the processes that are started next; see handlersOf
	attempts int      // of each handler
	feed     bool     // the outbox has one
	webhooks bool     // and webhooks
	patient  bool     // hand-overs wait for late answers

	mu   sync.Mutex // guards all
	all  []*process
	done bool
}

// newFleet ends its processes with the test, and shows what they logged if it fails.
func newFleet(t *testing.T, url string, rc *receiver, options relay.Options) *fleet {
	f := &fleet{t: t, url: url, rc: rc, options: options}
	t.Cleanup(f.end)
	return f
}

func (f *fleet) end() {
	f.mu.Lock()
	f.done = true
	all := f.all
	f.mu.Unlock()
	for _, p := range all {
		p.signal(syscall.SIGKILL)
		<-p.ended
	}
	if !f.t.Failed() {
		return
	}
	for _, p := range all {
		f.t.Logf("%s (pid %d): %v; logged:\n%s", p.name, p.cmd.Process.Pid, p.cmd.ProcessState, tail(p.log()))
	}
}

// tail keeps a failed test readable.
func tail(text string) string {
	const most = 4000
	if len(text) <= 2*most {
		return text
	}
	return text[:most] + "\n…\n" + text[len(text)-most:]
}

// process is one relay process.
type process struct {
	name   string
	cmd    *exec.Cmd
	stderr logBuffer
	stdout bytes.Buffer  // may be read once it has ended
	ended  chan struct{} // closed when it was waited for
}

// logBuffer is written by the process while the test reads.
type logBuffer struct {
	mu sync.Mutex // guards b
	b  bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (p *process) log() string {
	p.stderr.mu.Lock()
	defer p.stderr.mu.Unlock()
	return p.stderr.b.String()
}

// start starts one more relay. After the fleet's end it does nothing.
func (f *fleet) start() *process {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.done {
		return nil
	}
	p := &process{name: fmt.Sprintf("relay%d", len(f.all)+1), ended: make(chan struct{})}
	config, err := json.Marshal(processConfig{
		Name: p.name, URL: f.url, Dialect: f.dialect, Receiver: f.rc.address, Handlers: f.handlers, Attempts: f.attempts,
		Feed: f.feed, Webhooks: f.webhooks, Patient: f.patient, Options: f.options,
	})
	if err != nil {
		f.t.Error(err)
		return nil
	}
	self, err := os.Executable()
	if err != nil {
		f.t.Error(err)
		return nil
	}
	p.cmd = exec.Command(self)
	p.cmd.Env = append(os.Environ(), processVariable+"="+string(config))
	p.cmd.Stdout, p.cmd.Stderr = &p.stdout, &p.stderr
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	stdin, err := p.cmd.StdinPipe() // held open for as long as this process lives
	if err != nil {
		f.t.Error(err)
		return nil
	}
	if err := p.cmd.Start(); err != nil {
		f.t.Error(err)
		return nil
	}
	f.all = append(f.all, p)
	go func() {
		_ = p.cmd.Wait() // the state says all
		_ = stdin.Close()
		close(p.ended)
	}()
	return p
}

func (f *fleet) startAll(n int) []*process {
	out := make([]*process, n)
	for i := range out {
		out[i] = f.start()
	}
	return out
}

// named finds a process by its relay's name.
func (f *fleet) named(name string) *process {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, p := range f.all {
		if p.name == name {
			return p
		}
	}
	f.t.Errorf("no relay is called %q", name)
	return nil
}

func (p *process) signal(s syscall.Signal) {
	err := p.cmd.Process.Signal(s)
	if err != nil && !errors.Is(err, os.ErrProcessDone) {
		panic(err) // a signal to one's own child can't fail
	}
}

// kill ends the process as kill -9 does, and waits for its end.
func (p *process) kill() {
	p.signal(syscall.SIGKILL)
	<-p.ended
}

// code is the exit code of a process that has ended; -1 if a signal ended it.
func (p *process) code() int { return p.cmd.ProcessState.ExitCode() }

// report is what a process that ended by itself said.
func (p *process) report(t *testing.T) processReport {
	t.Helper()
	var r processReport
	if err := json.Unmarshal(p.stdout.Bytes(), &r); err != nil {
		t.Errorf("%s printed %q: %v", p.name, p.stdout.String(), err)
	}
	return r
}

// await waits for the end of a process.
func (p *process) await(t *testing.T, limit time.Duration) {
	t.Helper()
	select {
	case <-p.ended:
	case <-time.After(patience * limit):
		t.Fatalf("%s has not ended within %v", p.name, patience*limit)
	}
}

// stop asks the process to end, and fails the test unless it does so in order.
func (p *process) stop(t *testing.T) processReport {
	t.Helper()
	p.signal(syscall.SIGTERM)
	return p.stopped(t)
}

// stopped waits for a process that was asked to end.
func (p *process) stopped(t *testing.T) processReport {
	t.Helper()
	p.await(t, 20*time.Second)
	r := p.report(t)
	if p.code() != exitGraceful {
		t.Errorf("%s ended with %v: %s", p.name, p.cmd.ProcessState, r.Error)
	}
	return r
}

// stopAll stops what still runs, all at once, and answers the sum of refused outcomes.
func (f *fleet) stopAll() (refused int64) {
	f.t.Helper()
	running := f.running()
	for _, p := range running {
		p.signal(syscall.SIGTERM)
	}
	for _, p := range running {
		refused += p.stopped(f.t).Refused
	}
	return refused
}

// running are the processes that have not ended.
func (f *fleet) running() []*process {
	f.mu.Lock()
	defer f.mu.Unlock()
	var running []*process
	for _, p := range f.all {
		select {
		case <-p.ended:
		default:
			running = append(running, p)
		}
	}
	return running
}

// wantSilence fails the test if any relay logged anything: they log warnings and errors.
func (f *fleet) wantSilence() {
	f.t.Helper()
	for _, p := range f.all {
		if text := p.log(); strings.TrimSpace(text) != "" {
			f.t.Errorf("%s logged:\n%s", p.name, tail(text))
		}
	}
}

// patience is how many times a limit may be overrun: limits are for a machine that does little else.
const patience = 4 * racing.Slow

// eventually polls until cond holds.
func eventually(t *testing.T, limit time.Duration, what string, cond func() bool) {
	t.Helper()
	deadline := time.Now().Add(patience * limit)
	for !cond() {
		if time.Now().After(deadline) {
			t.Fatalf("not within %v: %s", patience*limit, what)
		}
		time.Sleep(2 * time.Millisecond)
	}
}
