package main

import (
	"testing"

	"github.com/sqloutbox/sqloutbox/internal/printed"
)

func TestOrdersGoThroughAllHandlersOnce(t *testing.T) {
	printed.Once(t, run,
		"mail for order-1: your invoice (correlation order-1)",
		"orders placed        5\n",
		"invoices written     4\n",
		"pieces invoiced      11\n",
		"pieces left in stock 5\n",
		"handler stock        4 done, 1 rejected",
		"handler invoice      4 done, 0 rejected",
		"handler mail         4 done, 0 rejected")
}
