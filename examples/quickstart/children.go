package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"
)

// child is a relay process. Its standard input is a pipe that only this process holds: the child works until it ends.
type child struct {
	name string
	cmd  *exec.Cmd
	pipe io.Closer
	done chan struct{} // closed when it has ended, with err set
	err  error
}

func startRelay(cfg relayConfig, s *screen) (*child, error) {
	text, err := json.Marshal(cfg)
	if err != nil {
		return nil, err
	}
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(program)
	cmd.Env = append(os.Environ(), relayEnv+"="+string(text))
	cmd.Stdout = s.lines(cfg.Name)
	cmd.Stderr = s.lines(cfg.Name)
	pipe, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", cfg.Name, err)
	}
	s.printf("%s: process %d", cfg.Name, cmd.Process.Pid)
	c := &child{name: cfg.Name, cmd: cmd, pipe: pipe, done: make(chan struct{})}
	go func() {
		defer close(c.done)
		c.err = cmd.Wait()
	}()
	return c, nil
}

// kill ends it as a power cut would: it can't finish anything. It returns when the process is gone.
func (c *child) kill() {
	_ = c.cmd.Process.Kill() // it may be gone already
	<-c.done
}

// stop asks it to finish what is in hand and to hand over its lease, and waits for that.
func (c *child) stop() error {
	_ = c.pipe.Close()
	select {
	case <-c.done:
		return c.err
	case <-time.After(20 * time.Second):
		c.kill()
		return fmt.Errorf("%s did not end when it was asked to", c.name)
	}
}
