package engines

import (
	"fmt"
	"os"
	"syscall"
)

// DirVariable names Dir, if it is set.
const DirVariable = "OUTBOX_TEST_STATE"

// roomInMemory is what must be free for the servers' data to live in memory: a run of all tests writes a third of it.
const roomInMemory = 8 << 30

// Dir is the directory in which all servers have theirs: the one that DirVariable names; or one in memory, if there is
// room; or DiskDir. It stays the same while the one in memory is there, which Down takes away.
//
// A test waits for hundreds of thousands of commits, and holds leases of a second: on a slow disk a run takes an hour, and
// leases lapse. The servers' settings are the same everywhere.
func Dir() string {
	if dir := os.Getenv(DirVariable); dir != "" {
		return dir
	}
	if _, err := os.Stat(memoryDir()); err == nil || free(memory) >= roomInMemory {
		return memoryDir()
	}
	return DiskDir()
}

const memory = "/dev/shm"

func memoryDir() string { return fmt.Sprintf("%s/sqloutbox-engines-%d", memory, os.Getuid()) }

// DiskDir is the directory for servers whose commits are to cost what a disk asks, as in a benchmark.
func DiskDir() string { return fmt.Sprintf("/var/tmp/sqloutbox-engines-%d", os.Getuid()) }

// free is how many bytes a directory's file system has left; 0 if there is none.
func free(dir string) uint64 {
	var stat syscall.Statfs_t
	if err := syscall.Statfs(dir, &stat); err != nil {
		return 0
	}
	return stat.Bavail * uint64(stat.Bsize)
}
