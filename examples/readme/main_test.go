package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestTheReadmeShowsThisProgram(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile("main.go")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(readme), "```go\n"+string(program)+"```") {
		t.Error("README.md does not show examples/readme/main.go as it is")
	}
}

func TestTheProgramPublishesItsEvent(t *testing.T) {
	program := filepath.Join(t.TempDir(), "readme")
	if out, err := exec.Command("go", "build", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	cmd := exec.Command(program)
	cmd.Dir = t.TempDir()
	out, err := cmd.CombinedOutput()
	if want := "published orders.placed order-1 {\"total\":4200}\n"; err != nil || string(out) != want {
		t.Errorf("%v\n%s, want %s", err, out, want)
	}
}

func TestTheReadmeShowsTheseSnippets(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	operating, err := os.ReadFile("../../docs/operating.md")
	if err != nil {
		t.Fatal(err)
	}
	shown := string(readme) + string(operating)
	source, err := os.ReadFile("snippets.go")
	if err != nil {
		t.Fatal(err)
	}
	snippets := strings.Split(string(source), "\t// README: ")[1:]
	if len(snippets) != 7 {
		t.Errorf("there are %d snippets", len(snippets))
	}
	for _, s := range snippets {
		name, text, _ := strings.Cut(s, "\n")
		text, _, _ = strings.Cut(text, "\t// end\n")
		text = strings.ReplaceAll("\n"+text, "\n\t", "\n")
		if !strings.Contains(shown, "```go"+text+"```") {
			t.Errorf("README.md and docs/operating.md do not show the snippet %q as it is", name)
		}
	}
}
