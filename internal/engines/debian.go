package engines

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// aptUsable returns why Debian's packages cannot be installed here, or nil.
func aptUsable() error {
	if _, err := exec.LookPath("apt-get"); err != nil {
		return errors.New("this is not Debian, whose packages could be installed")
	}
	if os.Getuid() != 0 {
		return errors.New("only root can install Debian's packages")
	}
	return nil
}

// aptInstall installs packages and nothing that they only recommend. The list of packages is fetched once an hour at
// most, and one process at a time: apt refuses a second.
func (s *steps) aptInstall(packages ...string) error {
	if err := aptUsable(); err != nil {
		return err
	}
	parent := filepath.Dir(s.dir)
	unlock, err := lockFile(s.ctx, filepath.Join(parent, "apt.lock"))
	if err != nil {
		return err
	}
	defer unlock()
	updated := filepath.Join(parent, "apt.updated")
	if info, err := os.Stat(updated); err != nil || time.Since(info.ModTime()) > time.Hour {
		s.say("fetching Debian's list of packages")
		if err := s.run("apt-get", "-q", "-o", "DPkg::Lock::Timeout=300", "update"); err != nil {
			return fmt.Errorf("update the list of packages: %w", err)
		}
		if err := os.WriteFile(updated, nil, 0o644); err != nil {
			return err
		}
	}
	s.say("installing Debian's %s", strings.Join(packages, ", "))
	line := []string{"apt-get", "-q", "-y", "--no-install-recommends", "-o", "DPkg::Lock::Timeout=300", "install"}
	if err := s.run(append(line, packages...)...); err != nil {
		return fmt.Errorf("install %s: %w", strings.Join(packages, " "), err)
	}
	return nil
}
