package webhook

import (
	"fmt"
	"net/netip"
	"net/url"
	"strings"

	"github.com/sqloutbox/sqloutbox/internal/invalid"
)

// MaxURL is the longest URL of a subscription, in bytes.
const MaxURL = 2048

// checkURL refuses what can't be an endpoint. An address in it is checked at once; a name when it is dialled.
func (o *Options) checkURL(text string) error {
	bad := func(format string, args ...any) error {
		return fmt.Errorf("%w: URL "+format, append([]any{invalid.ErrOptions}, args...)...)
	}
	u, err := url.Parse(text)
	shown := "" // without what may authorise: a user's name can be a token, and so can be what stands in the query
	if err == nil && u.Opaque == "" {
		shown = (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
	}
	switch {
	case len(text) > MaxURL:
		return bad("has %d bytes, at most %d", len(text), MaxURL)
	case err != nil:
		return bad("can't be read") // the error would show it, with what may be in it
	case u.Scheme != "https" && u.Scheme != "http":
		return bad("is not of the form https://host/path")
	case u.Scheme == "http" && !o.AllowHTTP:
		return bad("%s is not encrypted: use https, or Options.AllowHTTP in a network of your own", shown)
	case u.Hostname() == "":
		return bad("has no host")
	case u.User != nil:
		return bad("%s holds a user: put what authorises into a header", shown)
	case u.Fragment != "":
		return bad("%s has a fragment, which is never sent", shown)
	}
	a, err := netip.ParseAddr(strings.Trim(u.Hostname(), "[]"))
	if err != nil {
		return nil // a name
	}
	if err := checkAddress(a, o.AllowPrivate); err != nil {
		return bad("%s: %w", shown, err)
	}
	return nil
}
