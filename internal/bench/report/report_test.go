package report

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/sqloutbox/sqloutbox/internal/bench"
)

// A run as small as can be, with bars, a curve and a contestant that was cut off.
func small() *bench.Results {
	series := func(scenario, label, kind, curve string, x float64, rounds ...float64) bench.Series {
		return bench.Series{Engine: "sqlite", Scenario: scenario, Label: label, Kind: kind, Curve: curve, X: x,
			Values: map[string][]float64{"rate": rounds}}
	}
	r := &bench.Results{Sizes: bench.Full(), Engines: []bench.EngineInfo{{Name: "sqlite", Version: "3"}}, Series: []bench.Series{
		series("drain", "sqloutbox total", "ours", "", 0, 900, 1000, 1100),
		series("drain", "bare select+delete", "limit", "", 0, 500, 500, 500),
		series("drain", "a <peer>", "peer", "", 0, 1),
		series("kept", "sqloutbox total, 0 kept", "ours", "sqloutbox total", 0, 1000),
		series("kept", "sqloutbox total, 1,000,000 kept", "ours", "sqloutbox total", 1_000_000, 950),
	}}
	r.Series[2].Values["cut"] = []float64{1}
	return r
}

func TestReport(t *testing.T) {
	dir := t.TempDir()
	if err := Write(dir, small()); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "results.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"| drain (rate): sqloutbox total / bare select+delete at least 0.9 | **2.00** met |",
		"| sqloutbox total | **2.00** 1,000 ±5 % |",
		"| bare select+delete | *reference* 500 ±0 % |",
		"| a <peer> | **0.002** 1.00 ✂ |",
		"| kept (rate): sqloutbox total, 1,000,000 kept / sqloutbox total, 0 kept at least 0.9 | **0.95** met |",
		"kept-dark.svg",
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("results.md does not have %q", want)
		}
	}
	plots, err := filepath.Glob(filepath.Join(dir, "*.svg"))
	if len(plots) != 4 || err != nil {
		t.Errorf("plots: %q, %v", plots, err)
	}
	for _, plot := range plots {
		wellFormed(t, plot)
	}
}

func wellFormed(t *testing.T, path string) {
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	d := xml.NewDecoder(f)
	for {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Errorf("%s: %v", path, err)
			return
		}
	}
}

// What is read back makes the same report.
func TestReportAgain(t *testing.T) {
	dir := t.TempDir()
	want := small()
	if err := Write(dir, want); err != nil {
		t.Fatal(err)
	}
	if got, err := Read(dir); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("Read = %+v, %v", got, err)
	}
}
