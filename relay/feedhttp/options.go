package feedhttp

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"time"
)

// Options of a Handler. Authorize and Source are required. Zero means the default elsewhere; bad values are refused by New.
type Options struct {
	// Authorize decides on each request but OPTIONS, before anything else is looked at: nil lets it in, an error that is
	// ErrUnauthenticated is answered by 401, any other by 403. What the error says is not sent. It sees the topics that are
	// asked for as r.URL.Query()["topic"]; none means all. A stream is asked about when it begins, see MaxAge.
	Authorize func(r *http.Request) error
	// Source is the CloudEvents source of every event: a URI or a relative reference that names this outbox among others,
	// such as "https://shop.example/orders". Source and id together name an event for ever.
	Source string
	// Challenge is the WWW-Authenticate header of a 401; default "Bearer".
	Challenge string
	// Extensions are the headers of events that go along as CloudEvents attributes: the header's name, and that of the
	// attribute, which has lower-case letters and digits alone, at most 20. Default: none.
	Extensions map[string]string
	// IgnoreParams are query parameters of the host's own, such as "access_token". Any other that is not known is
	// answered by 400, since a misspelt topic would mean all topics. They are not part of the link to the next page.
	IgnoreParams []string

	// MaxPage is the most events that a page may be asked for, up to 500, the default.
	MaxPage int
	// MaxStreams is how many live streams there may be at once; default 100. One more is answered by 503. Each holds up to
	// a page in memory (8 MiB of payloads, or one event) while its client reads slowly, and looks each
	// outbox.Options.FeedPoll, which costs one row by primary key.
	MaxStreams int
	// MaxHeld is how many bytes of events pages hold together while their clients take them; default 64 MiB. Who asks for a
	// page beyond that is answered by 503. A page of any size is sent where no other is.
	MaxHeld int64
	// MaxReads is how many connections of the pool the handler uses at once; default 4. Who is beyond waits, up to
	// ReadTimeout. So a thousand streams that wake together leave the relay its connections.
	MaxReads int
	// Heartbeat is how often a stream sends a comment, and how far it has come; default 15 s.
	Heartbeat time.Duration
	// WriteTimeout is how long a client may take nothing of a page or of a stream before it is cut off; default 30 s. In HTTP/1
	// it shows what it takes only by pieces: some ten or hundred kilobytes with ConnContext, which see, up to 1.3 MB without. It takes
	// the place of http.Server.WriteTimeout.
	WriteTimeout time.Duration
	// ReadTimeout is how long the database may take for a page; default 10 s.
	ReadTimeout time.Duration
	// MaxAge is how long a stream lasts; default one hour. The client comes back by itself, goes on where it was, and is
	// authorised again.
	MaxAge time.Duration
	// Logger gets what an operator should know: failures of the database; default: silent.
	Logger *slog.Logger
}

const maxPage = 500 // that Feed.Read allows

func (o *Options) withDefaults() Options {
	var out Options
	if o != nil {
		out = *o
	}
	for _, n := range []struct {
		field *int
		value int
	}{{&out.MaxPage, maxPage}, {&out.MaxStreams, 100}, {&out.MaxReads, 4}} {
		if *n.field == 0 {
			*n.field = n.value
		}
	}
	for _, d := range []struct {
		field *time.Duration
		value time.Duration
	}{
		{&out.Heartbeat, 15 * time.Second}, {&out.WriteTimeout, 30 * time.Second}, {&out.ReadTimeout, 10 * time.Second}, {&out.MaxAge, time.Hour},
	} {
		if *d.field == 0 {
			*d.field = d.value
		}
	}
	if out.MaxHeld == 0 {
		out.MaxHeld = 64 << 20
	}
	if out.Challenge == "" {
		out.Challenge = "Bearer"
	}
	if out.Logger == nil {
		out.Logger = slog.New(slog.DiscardHandler)
	}
	return out
}

func (o *Options) validate() error {
	if o.Authorize == nil {
		return fmt.Errorf("%w: Authorize is nil: give a function, or AllowAll where everybody may read everything", ErrInvalidOptions)
	}
	if u, err := url.Parse(o.Source); err != nil || u.String() == "" {
		return fmt.Errorf("%w: Source %q: must be a URI that names this outbox", ErrInvalidOptions, o.Source)
	}
	if o.MaxPage < 0 || o.MaxPage > maxPage {
		return fmt.Errorf("%w: MaxPage %d: must be between 1 and %d", ErrInvalidOptions, o.MaxPage, maxPage)
	}
	for _, n := range []struct {
		name  string
		value int64
	}{
		{"MaxStreams", int64(o.MaxStreams)}, {"MaxHeld", o.MaxHeld}, {"MaxReads", int64(o.MaxReads)}, {"Heartbeat", int64(o.Heartbeat)},
		{"WriteTimeout", int64(o.WriteTimeout)}, {"ReadTimeout", int64(o.ReadTimeout)}, {"MaxAge", int64(o.MaxAge)},
	} {
		if n.value < 0 {
			return fmt.Errorf("%w: %s must not be negative", ErrInvalidOptions, n.name)
		}
	}
	for _, name := range o.IgnoreParams {
		if slices.Contains(params, name) {
			return fmt.Errorf("%w: IgnoreParams: %q is the feed's own", ErrInvalidOptions, name)
		}
	}
	return o.validateExtensions()
}

var attributeName = regexp.MustCompile(`^[a-z0-9]{1,20}$`)

func (o *Options) validateExtensions() error {
	seen := make(map[string]bool)
	for header, name := range o.Extensions {
		switch {
		case header == "" || !attributeName.MatchString(name):
			return fmt.Errorf("%w: Extensions: header %q as %q: an attribute has 1 to 20 lower-case letters and digits", ErrInvalidOptions, header, name)
		case slices.Contains(attributes, name):
			return fmt.Errorf("%w: Extensions: header %q as %q: that attribute is taken", ErrInvalidOptions, header, name)
		case seen[name]:
			return fmt.Errorf("%w: Extensions: two headers as %q", ErrInvalidOptions, name)
		}
		seen[name] = true
	}
	return nil
}
