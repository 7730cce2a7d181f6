package fleet

import (
	"flag"
	"fmt"
	"os"
	"testing"
)

// TestMain runs the tests, or, started by one of them, a relay.
func TestMain(m *testing.M) {
	if text := os.Getenv(processVariable); text != "" {
		os.Exit(relayProcess(text))
	}
	// These tests mostly wait for a lease or a disk, so more of them than there are processors may run at once. Those that
	// take longest and measure no time run beside each other, after all others. The command line has the last word.
	if err := flag.Set("test.parallel", "6"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}
