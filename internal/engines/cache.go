package engines

import (
	"cmp"
	"fmt"
	"os"
	"strconv"
)

// CacheVariable says how many megabytes of its tables each server keeps in memory. Unset, what tests need.
const CacheVariable = "OUTBOX_TEST_CACHE_MB"

// cacheMB is what CacheVariable says, or so much. A text that is no such number is 0, which checkCache refuses.
func cacheMB(unset int) int {
	mb, err := strconv.Atoi(cmp.Or(os.Getenv(CacheVariable), strconv.Itoa(unset)))
	if err != nil {
		return 0
	}
	return mb
}

func checkCache() error {
	if mb := cacheMB(leastCache); mb < leastCache {
		return fmt.Errorf("%s is %q: want a number of megabytes, at least %d", CacheVariable, os.Getenv(CacheVariable), leastCache)
	}
	return nil
}

// leastCache is what each server starts with.
const leastCache = 64
