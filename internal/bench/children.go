package bench

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"

	"github.com/sqloutbox/sqloutbox/internal/bench/contest"
)

// child is a process that was started.
type child struct {
	cmd  *exec.Cmd
	stop io.WriteCloser
	said chan last
	err  error // of reading; set before said is closed
}

// startChild starts this program again; what it delivers is noted in the sink.
func startChild(ctx context.Context, o task, sink *contest.Sink) (*child, error) {
	text, err := json.Marshal(o)
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	c := &child{cmd: exec.CommandContext(ctx, self), said: make(chan last, 1)}
	c.cmd.Env = append(os.Environ(), childVariable+"="+string(text))
	c.cmd.Stderr = os.Stderr
	if c.stop, err = c.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := c.cmd.Start(); err != nil {
		return nil, err
	}
	go c.read(bufio.NewReader(out), sink)
	return c, nil
}

func (c *child) read(out *bufio.Reader, sink *contest.Sink) {
	defer close(c.said)
	for {
		var n uint64
		if c.err = binary.Read(out, binary.BigEndian, &n); c.err != nil {
			return
		}
		if n == ending {
			break
		}
		sink.Take(int(n))
	}
	var l last
	if c.err = json.NewDecoder(out).Decode(&l); c.err == nil {
		c.said <- l
	}
}

// end stops the child and waits for it.
func (c *child) end() (last, error) {
	err := c.stop.Close()
	said, ok := <-c.said
	switch {
	case !ok:
		err = errors.Join(err, fmt.Errorf("child: %w", c.err))
	case said.Error != "":
		err = errors.Join(err, errors.New("child: "+said.Error))
	}
	return said, errors.Join(err, c.cmd.Wait())
}
