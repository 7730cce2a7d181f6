package engines

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
)

// steps does and reports what a bring-up consists of.
type steps struct {
	ctx  context.Context
	log  io.Writer
	name string
	dir  string // where commands run
}

func (s *steps) say(format string, args ...any) {
	fmt.Fprintf(s.log, s.name+": "+format+"\n", args...)
}

// run runs a command as this user and shows its last lines only if it fails.
func (s *steps) run(line ...string) error {
	cmd := exec.CommandContext(s.ctx, line[0], line[1:]...)
	cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive", "UCF_FORCE_CONFFOLD=1", "LC_ALL=C.UTF-8")
	return s.runCommand(cmd)
}

// runAs runs a command under the server's account.
func (s *steps) runAs(owner account, line ...string) error {
	cmd := exec.CommandContext(s.ctx, line[0], line[1:]...)
	cmd.Env = owner.environ(s.dir)
	cmd.SysProcAttr = owner.attributes()
	return s.runCommand(cmd)
}

func (s *steps) runCommand(cmd *exec.Cmd) error {
	// A file and not a pipe: a service that a package starts would hold a pipe open.
	out, err := os.CreateTemp("", "sqloutbox-step-")
	if err != nil {
		return err
	}
	defer os.Remove(out.Name())
	defer out.Close()
	cmd.Dir, cmd.Stdout, cmd.Stderr = s.dir, out, out
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w\n%s", cmd.Args[0], err, tail(out.Name()))
	}
	return nil
}

// tail returns the last lines of a file, indented.
func tail(path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	lines := strings.Split(string(bytes.TrimSpace(text)), "\n")
	lines = lines[max(0, len(lines)-15):]
	return "    " + strings.Join(lines, "\n    ")
}
