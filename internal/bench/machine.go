package bench

import (
	"bytes"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"

	"github.com/sqloutbox/sqloutbox/internal/bench/contest"
)

// Machine is where a run was made.
type Machine struct {
	OS, Arch, Go, CPU, Kernel, Memory, Load string
	CPUs                                    int
}

func machine() Machine {
	m := Machine{OS: runtime.GOOS, Arch: runtime.GOARCH, Go: runtime.Version(), CPUs: runtime.NumCPU()}
	m.CPU = field("/proc/cpuinfo", "model name")
	m.Memory = field("/proc/meminfo", "MemTotal")
	if out, err := exec.Command("uname", "-r").Output(); err == nil {
		m.Kernel = strings.TrimSpace(string(out))
	}
	if load, err := os.ReadFile("/proc/loadavg"); err == nil {
		m.Load = strings.Join(strings.Fields(string(load))[:3], " ")
	}
	return m
}

// MemoryMB is what the machine has, where that is known.
func MemoryMB() (mb int, known bool) {
	kB, err := strconv.Atoi(strings.TrimSuffix(field("/proc/meminfo", "MemTotal"), " kB"))
	return kB / 1024, err == nil
}

// field is a line "name : value" of a file of Linux, or "".
func field(path, name string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	for line := range bytes.Lines(text) {
		if key, value, ok := strings.Cut(string(line), ":"); ok && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// Version is a contestant as it ran.
type Version struct {
	Name, Kind, Module, Version, Settings, Lacks string
	Engines                                      []string
}

func versions() []Version {
	of := map[string]string{}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range info.Deps {
			of[m.Path] = m.Version
		}
	}
	var out []Version
	for _, c := range contest.All() {
		v := Version{Name: c.Name, Kind: string(c.Kind), Module: c.Module, Version: of[c.Module], Settings: c.Settings,
			Lacks: c.Lacks, Engines: c.Engines}
		if c.Module == "" {
			v.Version = thisTree()
		}
		out = append(out, v)
	}
	return out
}
