package main

import (
	"testing"

	"github.com/sqloutbox/sqloutbox/internal/printed"
)

func TestSubscribersAndTheReaderGetWhatIsTheirs(t *testing.T) {
	printed.Once(t, run,
		`the warehouse got 8 events after 1 failed request: {"order":1} {"order":2} {"order":3} {"order":4} {"order":5} {"order":6} {"order":7} {"order":8}`,
		"the audit got     16 events\n",
		`the reader got    {"order":1} {"order":2} {"order":3} {"order":4} and when it came back {"order":5} {"order":6} {"order":7} {"order":8}`,
		"audit     active: 16 delivered, 0 dead\n",
		"warehouse active: 8 delivered, 0 dead\n")
}
