package feedhttp

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/sqloutbox/sqloutbox/internal/topics"
	"github.com/sqloutbox/sqloutbox/outbox"
)

// params are the query parameters of the feed.
var params = []string{"after", "limit", "topic"}

// Positions that have no number yet.
const (
	oldest = "oldest"
	head   = "head"
)

const (
	maxTopics   = 100
	maxTopicLen = outbox.MaxTopicLen + len(".*")
	defaultPage = 100
)

// query is what a request asks for.
type query struct {
	from   string        // oldest or head; empty: at
	at     outbox.Cursor // behind which to begin
	limit  int
	topics []string
}

// parse reads a request's query, and for a stream its Last-Event-ID, which goes before after. Errors are *problem.
func (h *Handler) parse(r *http.Request, f format) (query, error) {
	q := query{limit: min(defaultPage, h.opts.MaxPage)}
	values, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return q, badRequest("query", "The query can't be read: separate parameters by &, and escape what they hold.")
	}
	if err := h.checkNames(values); err != nil {
		return q, err
	}
	if last := r.Header.Get("Last-Event-ID"); f == formatStream && last != "" {
		if q.at, err = outbox.ParseCursor(last); err != nil {
			return q, badRequest("cursor", fmt.Sprintf("Last-Event-ID %.60q is no cursor of a feed: send the id of an event of this stream, or none.", last))
		}
	} else if q.from, q.at, err = parseAfter(values.Get("after")); err != nil {
		return q, err
	}
	if values.Has("limit") {
		if q.limit, err = strconv.Atoi(values.Get("limit")); err != nil || q.limit < 1 || q.limit > h.opts.MaxPage || f == formatStream {
			return q, badRequest("limit", fmt.Sprintf("limit must be a number between 1 and %d, and is for pages alone.", h.opts.MaxPage))
		}
	}
	q.topics = values["topic"]
	return q, checkTopics(q.topics)
}

// checkNames refuses what is not known, and doubles of what there can be but one of.
func (h *Handler) checkNames(values url.Values) error {
	for name, all := range values {
		if slices.Contains(h.opts.IgnoreParams, name) {
			continue
		}
		if !slices.Contains(params, name) {
			return badRequest("parameter", fmt.Sprintf("There is no parameter %.60q: the feed has after, limit and topic.", name))
		}
		if name != "topic" && len(all) > 1 {
			return badRequest("parameter", fmt.Sprintf("Give %s once.", name))
		}
	}
	return nil
}

func parseAfter(text string) (from string, at outbox.Cursor, err error) {
	switch text {
	case "":
		return "", outbox.Cursor{}, nil
	case oldest, head:
		return text, outbox.Cursor{}, nil
	}
	if at, err = outbox.ParseCursor(text); err != nil {
		err = badRequest("cursor", fmt.Sprintf("after=%.60q is no cursor of a feed: send one that the feed has given, oldest, head, or none for the beginning.", text))
	}
	return "", at, err
}

func checkTopics(patterns []string) error {
	if len(patterns) > maxTopics {
		return badRequest("topic", fmt.Sprintf("Give at most %d topics.", maxTopics))
	}
	for _, p := range patterns {
		if topics.Check(p) != nil || len(p) > maxTopicLen {
			return badRequest("topic", fmt.Sprintf("topic=%.60q: a pattern is a topic's exact name, a prefix with .* behind it, or *.", p))
		}
	}
	return nil
}

// link is the reference to the next page, relative to the request.
func (q *query) link(next outbox.Cursor) string {
	var b strings.Builder
	fmt.Fprintf(&b, `<?after=%v&limit=%d`, next, q.limit)
	for _, p := range q.topics {
		b.WriteString("&topic=" + url.QueryEscape(p))
	}
	b.WriteString(`>; rel="next"`)
	return b.String()
}
