package engines

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
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

// startContainer runs the official image on a port of 127.0.0.1. A container that is there already does not answer or
// has other settings, so it is replaced, on the port it had if there was one.
func (h home) startContainer(s *steps) error {
	img := h.product.image
	name := fmt.Sprintf("sqloutbox-%d-%s", os.Getuid(), h.product.name)
	removeContainer(s.ctx, name)
	old, _ := h.load()
	port, err := freePort(old.Port)
	if err != nil {
		return err
	}
	s.say("starting Docker's %s", img.name)
	line := []string{"docker", "run", "--detach", "--name", name, "--publish",
		"127.0.0.1:" + strconv.Itoa(port) + ":" + strconv.Itoa(img.port)}
	for _, variable := range img.env {
		line = append(line, "--env", variable)
	}
	line = append(append(line, img.name), h.product.settings...)
	if err := s.run(line...); err != nil {
		return fmt.Errorf("start container: %w", err)
	}
	rec := record{Found: "Docker's " + img.name, Settings: h.wanted(), Port: port, Container: name}
	if err := h.save(rec); err != nil {
		return err
	}
	address := h.product.adminURL(port)
	err = retry(s.ctx, 3*time.Minute, func() (bool, error) {
		_, err := probe(s.ctx, address)
		return err == nil, err
	})
	if err != nil {
		logs, _ := exec.CommandContext(s.ctx, "docker", "logs", "--tail", "15", name).CombinedOutput()
		return fmt.Errorf("start container: %w\n%s", err, strings.TrimSpace(string(logs)))
	}
	return nil
}

func removeContainer(ctx context.Context, name string) {
	// Not there is the ordinary case; a container that cannot be removed makes the next command fail with a reason.
	_ = exec.CommandContext(ctx, "docker", "rm", "--force", "--volumes", name).Run()
}
