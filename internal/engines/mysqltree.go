package engines

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// machineCache is where root unpacks MySQL; /root is closed to the user that the server runs as.
const machineCache = "/var/cache/sqloutbox"

// treeDir is where MySQL is unpacked, once a machine and outside the checkout. OUTBOX_TEST_CACHE names another parent.
func treeDir() (string, error) {
	cache := os.Getenv("OUTBOX_TEST_CACHE")
	switch {
	case cache != "":
	case os.Getuid() == 0:
		cache = machineCache
	default:
		dir, err := os.UserCacheDir()
		if err != nil {
			return "", fmt.Errorf("find the cache directory: %w", err)
		}
		cache = filepath.Join(dir, "sqloutbox")
	}
	return filepath.Join(cache, treeName), nil
}

const treeName = "mysql-sid"

// findTree returns this user's unpacked MySQL, or the one that root has unpacked for the machine.
func findTree() (programs, bool) {
	if root, err := treeDir(); err == nil {
		if p, ok := treePrograms(root); ok {
			return p, true
		}
	}
	if os.Getenv("OUTBOX_TEST_CACHE") != "" {
		return programs{}, false
	}
	return treePrograms(filepath.Join(machineCache, treeName))
}

// treePrograms runs MySQL in place through its own loader: it was built against a newer C library than this machine's.
func treePrograms(root string) (programs, bool) {
	loaders, _ := filepath.Glob(filepath.Join(root, "usr/lib/*-linux-gnu*/ld-linux*.so*"))
	server := filepath.Join(root, "usr/sbin/mysqld")
	if len(loaders) == 0 || !executable(server) {
		return programs{}, false
	}
	libs := strings.Join([]string{filepath.Dir(loaders[0]), filepath.Join(root, "usr/lib/mysql/private")}, ":")
	line := []string{
		loaders[0], "--library-path", libs, server, "--no-defaults",
		"--basedir=" + filepath.Join(root, "usr"),
		"--lc-messages-dir=" + filepath.Join(root, "usr/share/mysql"),
		"--character-sets-dir=" + filepath.Join(root, "usr/share/mysql/charsets"),
		"--plugin-dir=" + filepath.Join(root, "usr/lib/mysql/plugin"),
		"--secure-file-priv=NULL",
	}
	return programs{server: line, create: line, found: "unpacked in " + root}, true
}

// unpackMySQL takes MySQL from Debian's sid, the only suite that has it, without installing it: its libraries would
// replace this machine's. The tree gets its name when it is complete, so half of one is never used.
func unpackMySQL(s *steps) error {
	root, err := treeDir()
	if err != nil {
		return err
	}
	if _, err := exec.LookPath("mmdebstrap"); err != nil {
		if err := s.aptInstall("mmdebstrap"); err != nil {
			return err
		}
	}
	parent := filepath.Dir(root)
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return err
	}
	unlock, err := lockFile(s.ctx, filepath.Join(parent, "lock"))
	if err != nil {
		return err
	}
	defer unlock()
	if _, ok := treePrograms(root); ok {
		return nil // another process was first
	}
	half := root + ".half"
	if err := os.RemoveAll(half); err != nil {
		return err
	}
	if err := os.Mkdir(half, 0o755); err != nil {
		return err
	}
	s.say("unpacking MySQL from Debian's sid into %s (about 20 s)", root)
	// sid's index may be older than it says it is good for when it comes from a snapshot.
	err = s.run("mmdebstrap", "--quiet", "--variant=extract", "--aptopt=Acquire::Check-Valid-Until \"false\"",
		"--include=mysql-server-core", "sid", half)
	if err != nil {
		_ = os.RemoveAll(half)
		return fmt.Errorf("unpack MySQL: %w", err)
	}
	return os.Rename(half, root)
}
