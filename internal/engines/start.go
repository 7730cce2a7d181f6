package engines

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// start brings the server up from programs on this machine. The caller holds the lock, and the server does not answer.
func (h home) start(s *steps, p programs) error {
	owner, err := serverUser(h.product.users)
	if err != nil {
		return err
	}
	old, _ := h.load()
	if old.alive() && old.Settings == h.wanted() && h.waitFor(s, old, 2*time.Minute) == nil {
		return nil // it was only slow, or had no connection left
	}
	if old.alive() {
		s.say("stopping the server that does not answer or has other settings")
		if err := old.end(h.product.stop); err != nil {
			return err
		}
	}
	if _, err := os.Stat(h.path("data")); err != nil {
		if err := h.createData(s, p, owner); err != nil {
			return err
		}
	}
	s.say("starting the server (%s)", p.found)
	for try := 1; ; try++ {
		err := h.launch(s, p, owner, old.Port)
		switch {
		case err == nil || !errors.Is(err, errDied):
			return err
		case try < 5:
			time.Sleep(time.Duration(try) * 300 * time.Millisecond) // what a killed server left may take a moment to be gone
		case try == 5:
			s.say("it cannot start on its data directory, which is made anew")
			if err := h.createData(s, p, owner); err != nil {
				return err
			}
		default:
			return err
		}
	}
}

// createData makes an empty data directory. It gets its name when it is complete: a directory that was begun by a
// process that was killed is not taken for a database.
func (h home) createData(s *steps, p programs, owner account) error {
	s.say("creating a data directory in %s", h.dir)
	half := h.path("data.new")
	if err := os.RemoveAll(half); err != nil {
		return fmt.Errorf("create data directory: %w", err)
	}
	if err := owner.mkdir(half); err != nil {
		return fmt.Errorf("create data directory: %w", err)
	}
	if err := s.runAs(owner, h.product.create(p, half)...); err != nil {
		return fmt.Errorf("create data directory: %w", err)
	}
	if err := os.RemoveAll(h.path("data")); err != nil {
		return fmt.Errorf("create data directory: %w", err)
	}
	if err := os.Rename(half, h.path("data")); err != nil {
		return fmt.Errorf("create data directory: %w", err)
	}
	return nil
}

var errDied = errors.New("the server ended at once")

// launch starts the server process and waits until it answers. It keeps the port it had if it can, so that the URLs
// that tests hold are good again after a crash.
func (h home) launch(s *steps, p programs, owner account, port int) error {
	port, err := freePort(port)
	if err != nil {
		return err
	}
	h.removeStaleLocks()
	line := append(h.product.serve(p, h.path("data"), port), h.product.settings...)
	pid, err := startDetached(owner, h.dir, h.path("log"), line)
	if err != nil {
		return err
	}
	rec := record{Found: p.found, Settings: h.wanted(), Port: port, PID: pid, Born: born(pid)}
	// Before it answers, so that a server can be found and stopped even if this process is killed now.
	if err := h.save(rec); err != nil {
		return err
	}
	return h.waitFor(s, rec, 2*time.Minute)
}

// removeStaleLocks removes the files that say who uses the data directory when they name a process that is dead but
// not reaped, as in a container without an init process: the servers take it for a live one and refuse to start.
func (h home) removeStaleLocks() {
	for _, name := range []string{"postmaster.pid", "s.sock.lock", "pid"} {
		text, err := os.ReadFile(filepath.Join(h.path("data"), name))
		if err != nil {
			continue
		}
		first, _, _ := strings.Cut(string(text), "\n")
		if pid, err := strconv.Atoi(strings.TrimSpace(first)); err == nil && zombie(pid) {
			_ = os.Remove(filepath.Join(h.path("data"), name))
		}
	}
}

// waitFor waits until the server answers.
func (h home) waitFor(s *steps, rec record, limit time.Duration) error {
	address := h.product.adminURL(rec.Port)
	err := retry(s.ctx, limit, func() (bool, error) {
		_, err := probe(s.ctx, address)
		if err != nil && !rec.alive() {
			return true, errDied
		}
		return err == nil, err
	})
	if err != nil {
		return fmt.Errorf("start server: %w\n%s", err, tail(h.path("log")))
	}
	return nil
}

func freePort(wanted int) (int, error) {
	for _, port := range []int{wanted, 0} {
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err == nil {
			defer l.Close()
			return l.Addr().(*net.TCPAddr).Port, nil
		}
	}
	return 0, errors.New("find a free port: none to be had")
}
