package relay

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/sqloutbox/sqloutbox/outbox"
)

func TestBadOptionsAreRefusedByName(t *testing.T) {
	for field, o := range map[string]Options{
		"OrderPerKey":     {Order: OrderPerKey},
		"Order(9)":        {Order: 9},
		"Batch":           {Batch: 901},
		"Concurrency":     {Order: OrderTotal, Concurrency: 2},
		"Lease":           {Lease: time.Millisecond},
		"PollMax":         {Poll: time.Second, PollMax: time.Millisecond},
		"MaxAttempts":     {MaxAttempts: -1},
		"BackoffMax":      {Backoff: time.Second, BackoffMax: time.Millisecond},
		"OnDead":          {OnDead: 7},
		"HoldKey":         {},
		"DeadLetterAfter": {DeadLetterAfter: -1},
		"PublishTimeout":  {PublishTimeout: -1},
		"ShutdownTimeout": {ShutdownTimeout: -1},
		"Retention":       {Retention: -1},
		"DeadRetention":   {DeadRetention: -1},
		"PurgeEvery":      {PurgeEvery: -1},
		"Observers[0]":    {Observers: []Observer{struct{}{}}},
	} {
		want := field
		if field == "HoldKey" {
			o, want = Options{Order: OrderNone, OnDead: HoldKey}, "OnDead"
		}
		set := o.withDefaults()
		err := set.validate()
		if !errors.Is(err, outbox.ErrInvalidOptions) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", field, err)
		}
	}
}

func TestNilOptionsAreTheDocumentedDefaults(t *testing.T) {
	o := (*Options)(nil).withDefaults()
	if err := o.validate(); err != nil {
		t.Fatal(err)
	}
	if o.Order != OrderTotal || o.Poll != 500*time.Millisecond || o.Batch != 100 || o.Lease != 30*time.Second ||
		o.MaxAttempts != 11 || o.Backoff != time.Second || o.BackoffMax != 5*time.Minute || o.DeadLetterAfter != 0 ||
		o.Retention != 0 || o.OnDead != SkipDead {
		t.Errorf("%+v", o)
	}
}
