package engines

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os/exec"
	"strings"
	"time"
)

// dockerAnswers tells whether there is a Docker engine; the command alone is not enough.
func dockerAnswers(ctx context.Context) bool {
	if _, err := exec.LookPath("docker"); err != nil {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	return exec.CommandContext(ctx, "docker", "info").Run() == nil
}

// startContainer runs the official image on a port of 127.0.0.1: the container of before with its data if there is one
// and it comes up, and else a new one.
func (h home) startContainer(s *steps) error {
	s.say("starting Docker's %s", h.product.image.name)
	old, _ := h.load()
	if old.Container != "" && old.Settings == h.wanted() && s.run("docker", "start", old.Container) == nil {
		if h.waitForContainer(s, old) == nil {
			return nil
		}
	}
	rec, err := h.newContainer(s, old.Port)
	if err != nil {
		return fmt.Errorf("start container: %w", err)
	}
	if err := h.waitForContainer(s, rec); err != nil {
		logs, _ := exec.CommandContext(s.ctx, "docker", "logs", "--tail", "15", rec.Container).CombinedOutput()
		return fmt.Errorf("start container: %w\n%s", err, strings.TrimSpace(string(logs)))
	}
	return nil
}

func (h home) newContainer(s *steps, port int) (record, error) {
	name := h.container()
	removeContainer(s.ctx, name)
	port, err := freePort(port)
	if err != nil {
		return record{}, err
	}
	img := h.product.image
	line := []string{"docker", "run", "--detach", "--name", name, "--publish",
		fmt.Sprintf("127.0.0.1:%d:%d", port, img.port)}
	for _, variable := range img.env {
		line = append(line, "--env", variable)
	}
	line = append(append(line, img.name), h.product.settings...)
	if err := s.run(line...); err != nil {
		return record{}, err
	}
	rec := record{Found: "Docker's " + img.name, Settings: h.wanted(), Port: port, Container: name}
	return rec, h.save(rec)
}

// container is the name, which differs between users and between parents that OUTBOX_TEST_STATE names.
func (h home) container() string {
	sum := sha256.Sum256([]byte(h.dir))
	return fmt.Sprintf("sqloutbox-%s-%x", h.product.name, sum[:4])
}

func (h home) waitForContainer(s *steps, rec record) error {
	address := h.product.adminURL(rec.Port)
	return retry(s.ctx, 3*time.Minute, func() (bool, error) {
		_, err := probe(s.ctx, address)
		if err != nil && !containerRuns(s.ctx, rec.Container) {
			return true, errDied
		}
		return err == nil, err
	})
}

func containerRuns(ctx context.Context, name string) bool {
	out, err := exec.CommandContext(ctx, "docker", "inspect", "--format", "{{.State.Running}}", name).Output()
	return err == nil && strings.TrimSpace(string(out)) == "true"
}

func removeContainer(ctx context.Context, name string) {
	// Not there is the ordinary case; a container that cannot be removed makes the next command fail with a reason.
	_ = exec.CommandContext(ctx, "docker", "rm", "--force", "--volumes", name).Run()
}
