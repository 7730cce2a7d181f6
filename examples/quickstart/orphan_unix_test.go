//go:build unix

package main

import (
	"bufio"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"syscall"
	"testing"
	"time"
)

func TestRelaysEndWhenTheirParentIsKilled(t *testing.T) {
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", t.TempDir()) // for what a killed program can't take away
	cmd := exec.Command(program, "-n", "1000000")
	cmd.Env = append(os.Environ(), asProgram+"=1")
	output, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	relay := regexp.MustCompile(`^relay-.: process (\d+)$`)
	var pids []int
	for lines := bufio.NewScanner(output); len(pids) < 2 && lines.Scan(); {
		if m := relay.FindStringSubmatch(lines.Text()); m != nil {
			pid, err := strconv.Atoi(m[1])
			if err != nil {
				t.Fatal(err)
			}
			pids = append(pids, pid)
		}
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // "signal: killed"
	if len(pids) != 2 {
		t.Fatalf("the program named relays %v, want two", pids)
	}
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		if !running(pids[0]) && !running(pids[1]) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("of relays %v some still run", pids)
		}
	}
}

// running tells whether there is such a process. A zombie, which nobody may wait for in a container, is none.
func running(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return err != nil || !regexp.MustCompile(`\) Z `).Match(stat)
}
