package engines

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// startDetached starts a process that is nobody's child: it outlives this one, is not reaped by it, and holds none of
// its files. An open standard output would keep CI waiting for ever.
func startDetached(owner account, dir, logPath string, line []string) (pid int, err error) {
	if info, err := os.Stat(logPath); err == nil && info.Size() > 16<<20 {
		_ = os.Rename(logPath, logPath+".old")
	}
	log, err := os.OpenFile(logPath, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return 0, fmt.Errorf("start: %w", err)
	}
	defer log.Close()
	// The shell puts the server in the background with the log on descriptor 3, prints its pid and ends.
	const script = `exec_in_background() { exec "$@" </dev/null >&3 2>&3 3>&-; }
exec_in_background "$@" & echo $!`
	cmd := exec.Command("/bin/sh", append([]string{"-c", script, "sh"}, line...)...)
	cmd.Dir = dir
	cmd.Env = owner.environ(dir)
	cmd.ExtraFiles = []*os.File{log}
	cmd.SysProcAttr = owner.attributes()
	out, err := cmd.Output()
	if err != nil {
		return 0, fmt.Errorf("start %s: %w", line[0], err)
	}
	pid, err = strconv.Atoi(strings.TrimSpace(string(out)))
	if err != nil {
		return 0, fmt.Errorf("start %s: %w", line[0], err)
	}
	return pid, nil
}

// alive tells whether the process is still the one that was started here.
func (r record) alive() bool {
	if r.PID == 0 || syscall.Kill(r.PID, 0) != nil || zombie(r.PID) {
		return false
	}
	return born(r.PID) == r.Born
}

// born identifies a process beside its pid: the time of its start, in the kernel's ticks. It is "" for a process that
// is gone or waits to be reaped, and on a system without /proc, where the pid has to do.
func born(pid int) string {
	if state, start := processStat(pid); state != "Z" {
		return start
	}
	return ""
}

// zombie tells whether the process has ended and waits for its parent to take notice.
func zombie(pid int) bool {
	state, _ := processStat(pid)
	return state == "Z"
}

func processStat(pid int) (state, start string) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", ""
	}
	// The name, in brackets, may hold anything. After it the state is the first field and the start the twentieth.
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	if len(fields) < 20 {
		return "", ""
	}
	return fields[0], fields[19]
}

// end asks the process to stop and kills it if it has not within half a minute.
func (r record) end(ask syscall.Signal) error {
	for _, signal := range []syscall.Signal{ask, syscall.SIGKILL} {
		if !r.alive() {
			return nil
		}
		if err := syscall.Kill(r.PID, signal); err != nil && !errors.Is(err, syscall.ESRCH) {
			return fmt.Errorf("stop server: %w", err)
		}
		for deadline := time.Now().Add(30 * time.Second); r.alive() && time.Now().Before(deadline); {
			time.Sleep(20 * time.Millisecond)
		}
	}
	if r.alive() {
		return fmt.Errorf("stop server: process %d does not end", r.PID)
	}
	return nil
}
