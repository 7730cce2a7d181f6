package webhook

import (
	"fmt"
	"maps"
	"net/textproto"
	"slices"
	"strings"
	"time"

	"github.com/sqloutbox/sqloutbox/internal/invalid"
	"github.com/sqloutbox/sqloutbox/internal/plaintext"
	"github.com/sqloutbox/sqloutbox/internal/topics"
)

// Limits of a subscription, in bytes.
const (
	MaxName    = 128
	maxTopics  = 100
	maxHeaders = 8 << 10 // all together
)

// Subscription is what a subscriber wants.
type Subscription struct {
	// Name tells it from others: at most 128 bytes.
	Name string
	// URL is where events are posted to. It is listed: put what authorises into a header.
	URL string
	// Topics are patterns: a topic's exact name, a prefix as in "orders.*", or "*". Topics that begin with "sqloutbox." are
	// only for those who name them.
	Topics []string
	// Ordered sends one event after the other, in the order of the feed, and none before the one before it is done or dead:
	// one that fails holds the rest up for as long as Schedule goes. Otherwise up to Options.Parallel are under way at once.
	Ordered bool
	// Headers are sent with each request. Their values are never listed, and where an
	// endpoint sends one back that has 6 bytes or more, as a whole or behind a word as in "Bearer …", Delivery says "[redacted]".
	// Update leaves them as they are where this is nil.
	Headers map[string]string
	// KeepPaused is how many deliveries are kept for it while it is paused, and PausedHold for how long what it is owed is kept
	// while it isn't active: see Options. Zero: what Options say when the subscription is created or updated; options that
	// change later change no subscription by themselves.
	KeepPaused int
	PausedHold time.Duration
}

func checkName(name string) error {
	if reason := plaintext.BadName(name, MaxName); reason != "" {
		return fmt.Errorf("%w: Name %q %s", invalid.ErrOptions, name, reason)
	}
	return nil
}

func (w *Webhooks) checkSubscription(s *Subscription) error {
	if err := checkName(s.Name); err != nil {
		return err
	}
	if err := w.opts.checkURL(s.URL); err != nil {
		return err
	}
	if len(s.Topics) == 0 || len(s.Topics) > maxTopics {
		return fmt.Errorf("%w: Topics: there are %d, want 1 to %d", invalid.ErrOptions, len(s.Topics), maxTopics)
	}
	for _, p := range s.Topics {
		if err := topics.Check(p); err != nil {
			return fmt.Errorf("%w: Topics: %w", invalid.ErrOptions, err)
		}
	}
	if s.KeepPaused < 0 || s.PausedHold != 0 && s.PausedHold < time.Millisecond {
		return fmt.Errorf("%w: KeepPaused %d must not be negative, PausedHold %v be a millisecond at least", invalid.ErrOptions,
			s.KeepPaused, s.PausedHold)
	}
	return checkHeaders(s.Headers)
}

// reserved are headers that are not a subscriber's: they say where a request goes and how long it is, or are the standard's.
var reserved = []string{
	"Host", "Content-Length", "Transfer-Encoding", "Connection", "Keep-Alive", "Te", "Trailer", "Upgrade", "Expect",
	"Proxy-Authorization", "Proxy-Connection",
}

func checkHeaders(h map[string]string) error {
	total, seen := 0, make(map[string]bool)
	for _, name := range slices.Sorted(maps.Keys(h)) {
		canonical := textproto.CanonicalMIMEHeaderKey(name)
		total += len(name) + len(h[name])
		switch {
		case !isToken(name):
			return fmt.Errorf("%w: Headers: %q is no name", invalid.ErrOptions, name)
		case slices.Contains(reserved, canonical) || strings.HasPrefix(canonical, "Webhook-"):
			return fmt.Errorf("%w: Headers: %s is not for subscriptions to set", invalid.ErrOptions, canonical)
		case seen[canonical]:
			return fmt.Errorf("%w: Headers: %s is there twice", invalid.ErrOptions, canonical)
		case !isFieldValue(h[name]):
			return fmt.Errorf("%w: Headers: the value of %s can't be sent", invalid.ErrOptions, canonical)
		}
		seen[canonical] = true
	}
	if total > maxHeaders {
		return fmt.Errorf("%w: Headers: %d bytes, at most %d", invalid.ErrOptions, total, maxHeaders)
	}
	return nil
}

// isToken: RFC 9110, 5.6.2.
func isToken(s string) bool {
	for i := range len(s) {
		if c := s[i]; !alphanumeric(c) && strings.IndexByte("!#$%&'*+-.^_`|~", c) < 0 {
			return false
		}
	}
	return s != ""
}

// isFieldValue: RFC 9110, 5.5, of visible ASCII, spaces and tabs.
func isFieldValue(s string) bool {
	for i := range len(s) {
		if c := s[i]; c != '\t' && (c < ' ' || c > '~') {
			return false
		}
	}
	return true
}
