package bench

import (
	"bytes"
	"os"
	"runtime"
	"strconv"
)

// peakMemory is how much memory this process had at most, by the system if it tells (Linux), else by the runtime.
func peakMemory() int64 {
	status, err := os.ReadFile("/proc/self/status")
	if err == nil {
		if _, rest, ok := bytes.Cut(status, []byte("VmHWM:")); ok {
			if kb, err := strconv.ParseInt(string(bytes.Fields(rest)[0]), 10, 64); err == nil {
				return kb << 10
			}
		}
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.Sys)
}
