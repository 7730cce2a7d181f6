package pgwake

import (
	"errors"
	"strings"
	"testing"
	"time"
)

const listening = `LISTEN "sqloutbox"`

func TestAKilledListenerComesUpAgainAndWakesOnce(t *testing.T) {
	onPostgres(t, func(t *testing.T, address string) {
		db, n, woken := pool(t, address), newNotifier(t, address, nil), newWakes()
		stop := listen(t, n, woken)
		<-woken // it has come up
		for range 3 {
			kill(t, db, listening)
			<-woken // and again
			n.Wake()
			<-woken
		}
		stop()
		if len(woken) != 0 {
			t.Errorf("it has woken %d times more than there was reason to", len(woken))
		}
	})
}

func TestEveryWakerIsWoken(t *testing.T) {
	onPostgres(t, func(t *testing.T, address string) {
		n, one, other := newNotifier(t, address, nil), newWakes(), newWakes()
		listen(t, n, one, other)
		for range 2 {
			<-one
			<-other
			n.Wake()
		}
		<-one
		<-other
	})
}

// A firewall that has lost its state tells nobody.
func TestAConnectionThatHasGoneSilentIsReplaced(t *testing.T) {
	onPostgres(t, func(t *testing.T, address string) {
		n, woken := newNotifier(t, address, &Options{Idle: 10 * time.Millisecond}), newWakes()
		n.patience = 500 * time.Millisecond
		var g gate
		g.put(n)
		listen(t, n, woken)
		<-woken
		for range 2 {
			g.swallow()
			<-woken
		}
	})
}

// Asking whether anybody is there loses no notice.
func TestAnIdleListenerHears(t *testing.T) {
	onPostgres(t, func(t *testing.T, address string) {
		n, woken := newNotifier(t, address, &Options{Idle: time.Microsecond}), newWakes()
		listen(t, n, woken)
		<-woken
		for range 100 {
			n.Wake()
			<-woken
		}
	})
}

func TestListenersHearTheirOwnChannelAlone(t *testing.T) {
	onPostgres(t, func(t *testing.T, address string) {
		upper, lower := newNotifier(t, address, &Options{Channel: "Shop"}), newNotifier(t, address, &Options{Channel: "shop"})
		hearsUpper, hearsLower := newWakes(), newWakes()
		stopUpper, stopLower := listen(t, upper, hearsUpper), listen(t, lower, hearsLower)
		<-hearsUpper
		<-hearsLower
		for range 3 {
			upper.Wake()
			<-hearsUpper
		}
		lower.Wake()
		<-hearsLower
		stopUpper()
		stopLower()
		if len(hearsUpper) != 0 || len(hearsLower) != 0 {
			t.Errorf("%d and %d notices were heard on the wrong channel", len(hearsUpper), len(hearsLower))
		}
	})
}

// What Listen is given is judged before it connects: there is no server here.
func TestListenRefusesWhatSendsOn(t *testing.T) {
	n := newNotifier(t, "host=127.0.0.1 port=1", nil)
	o := newOutbox(t, "host=127.0.0.1 port=1")
	for _, wakers := range [][]Waker{{}, {nil}, {n}, {o}, {newWakes(), o}} {
		if err := n.Listen(t.Context(), wakers...); !errors.Is(err, ErrInvalidOptions) {
			t.Errorf("%v: %v", wakers, err)
		}
	}
}

func TestNewRefuses(t *testing.T) {
	const dsn = "postgres://app:secret@db/shop"
	for _, c := range []struct {
		dsn  string
		opts *Options
		want string
	}{
		{"postgres://app:secret@db:port/shop", nil, "port"},
		{"mysql://app:secret@db/shop", nil, "mysql"},
		{"nothing", nil, ""},
		{dsn, &Options{Channel: "a-b"}, "Channel"},
		{dsn, &Options{Channel: "1a"}, "Channel"},
		{dsn, &Options{Channel: "a\n"}, "Channel"},
		{dsn, &Options{Channel: `a"; DROP TABLE x`}, "Channel"},
		{dsn, &Options{Channel: "é"}, "Channel"},
		{dsn, &Options{Channel: strings.Repeat("a", 64)}, "Channel"},
		{dsn, &Options{Idle: -1}, "Idle"},
	} {
		_, err := New(c.dsn, c.opts)
		if !errors.Is(err, ErrInvalidOptions) || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s, %+v: %v", c.dsn, c.opts, err)
		}
	}
}
