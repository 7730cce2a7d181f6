package relay

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/sqloutbox/sqloutbox/dialect/sqlite"
	"github.com/sqloutbox/sqloutbox/outbox"
)

func TestBadOptionsAreRefusedByName(t *testing.T) {
	for field, o := range map[string]Options{
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
	if o.Order != OrderPerKey || o.Concurrency != 8 || o.Poll != 500*time.Millisecond || o.Batch != 100 || o.Lease != 30*time.Second ||
		o.MaxAttempts != 11 || o.Backoff != time.Second || o.BackoffMax != 5*time.Minute || o.DeadLetterAfter != 0 ||
		o.Retention != 0 || o.OnDead != SkipDead {
		t.Errorf("%+v", o)
	}
}

var nowhere = PublisherFunc(func(context.Context, Message) error { return nil })

func TestARelayWithoutAPublisherIsRefused(t *testing.T) {
	o, err := outbox.New(&sql.DB{}, sqlite.New(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, p := range map[string]Publisher{"nil": nil, "a nil function": PublisherFunc(nil)} {
		if _, err := New(o, p, nil); !errors.Is(err, outbox.ErrInvalidOptions) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := New(nil, nowhere, nil); !errors.Is(err, outbox.ErrInvalidOptions) {
		t.Errorf("no outbox: %v", err)
	}
}

func TestARelayTakesTheOutboxsRetriesWhereItIsGivenNone(t *testing.T) {
	db, d := &sql.DB{}, sqlite.New()
	type retries struct {
		attempts                    int
		after, backoff, longestWait time.Duration
	}
	const second = time.Second
	app := outbox.RetryDefaults{MaxAttempts: 3, DeadLetterAfter: time.Hour, Backoff: 2 * second, BackoffMax: 8 * second}
	for _, test := range []struct {
		name string
		app  outbox.RetryDefaults
		own  *Options
		want retries
	}{
		{"nothing is given", outbox.RetryDefaults{}, nil, retries{11, 0, second, 300 * second}},
		{"all is the outbox's", app, nil, retries{3, time.Hour, 2 * second, 8 * second}},
		{"all is the outbox's, beside other options", app, &Options{Batch: 7}, retries{3, time.Hour, 2 * second, 8 * second}},
		{"all is the relay's", app, &Options{MaxAttempts: 5, DeadLetterAfter: 1, Backoff: 3 * second, BackoffMax: 4 * second}, retries{5, 1, 3 * second, 4 * second}},
		{"one is the relay's", app, &Options{MaxAttempts: 5}, retries{5, time.Hour, 2 * second, 8 * second}},
		{"a relay's wait beyond the outbox's longest", app, &Options{Backoff: 9 * second}, retries{3, time.Hour, 9 * second, 9 * second}},
		{"a relay's longest wait below the outbox's wait", app, &Options{BackoffMax: second}, retries{3, time.Hour, second, second}},
		{"an outbox's wait beyond the default longest", outbox.RetryDefaults{Backoff: time.Hour}, nil, retries{11, 0, time.Hour, time.Hour}},
		{"an outbox's longest wait below the default wait", outbox.RetryDefaults{BackoffMax: second / 2}, nil, retries{11, 0, second / 2, second / 2}},
		{"an outbox's longest wait alone", outbox.RetryDefaults{BackoffMax: 5 * second}, nil, retries{11, 0, second, 5 * second}},
	} {
		o, err := outbox.New(db, d, &outbox.Options{Retry: test.app})
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		for range 2 { // the outbox's are for every relay, and are not used up
			r, err := New(o, nowhere, test.own)
			if err != nil {
				t.Errorf("%s: %v", test.name, err)
				continue
			}
			got := retries{r.opts.MaxAttempts, r.opts.DeadLetterAfter, r.opts.Backoff, r.opts.BackoffMax}
			if got != test.want {
				t.Errorf("%s: %+v, want %+v", test.name, got, test.want)
			}
		}
	}
}

func TestARelaysBadRetriesAreNotMendedByTheOutboxs(t *testing.T) {
	o, err := outbox.New(&sql.DB{}, sqlite.New(), &outbox.Options{Retry: outbox.RetryDefaults{MaxAttempts: 3, Backoff: time.Second}})
	if err != nil {
		t.Fatal(err)
	}
	for field, own := range map[string]Options{
		"MaxAttempts": {MaxAttempts: -1}, "DeadLetterAfter": {DeadLetterAfter: -1}, "Backoff ": {Backoff: -1}, "BackoffMax": {BackoffMax: -1},
	} {
		if _, err := New(o, nowhere, &own); !errors.Is(err, outbox.ErrInvalidOptions) || !strings.Contains(err.Error(), field) {
			t.Errorf("%s: %v", field, err)
		}
	}
}
