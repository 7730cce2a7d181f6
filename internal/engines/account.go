package engines

import (
	"fmt"
	"os"
	"os/user"
	"slices"
	"strconv"
	"syscall"
)

// account is the system user that a server runs as: this process's own, unless that is root, as which PostgreSQL and
// MySQL refuse to run.
type account struct {
	uid, gid int
	change   bool // from root
}

func serverUser(preferred []string) (account, error) {
	if os.Getuid() != 0 {
		return account{uid: os.Getuid(), gid: os.Getgid()}, nil
	}
	for _, name := range slices.Concat(preferred, []string{"nobody"}) {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err := strconv.Atoi(u.Uid)
		if err != nil {
			continue
		}
		gid, err := strconv.Atoi(u.Gid)
		if err != nil {
			continue
		}
		return account{uid: uid, gid: gid, change: true}, nil
	}
	return account{}, fmt.Errorf("find a user to run the server as: there is none of %v, nor nobody", preferred)
}

// attributes puts a process under the account, in a session of its own, out of reach of the terminal's signals.
func (a account) attributes() *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Setsid: true}
	if a.change {
		attr.Credential = &syscall.Credential{Uid: uint32(a.uid), Gid: uint32(a.gid)}
	}
	return attr
}

// environ is small and the same for everyone, so that a server does not depend on who started it first.
func (a account) environ(dir string) []string {
	return []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=" + dir, "LC_ALL=C.UTF-8"}
}

// mkdir makes a directory for the account alone.
func (a account) mkdir(path string) error {
	if err := os.Mkdir(path, 0o700); err != nil {
		return err
	}
	if a.change {
		return os.Chown(path, a.uid, a.gid)
	}
	return nil
}
