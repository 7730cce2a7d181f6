package webhook

import (
	"cmp"
	"errors"
	"net/http"
	"slices"
	"strings"
)

// minHidden is the length from which on a header's value is hidden, in bytes: what is shorter is no secret, and stands
// in any text.
const minHidden = 6

// public are headers of a request that everybody may know.
var public = map[string]bool{
	"User-Agent": true, "Content-Type": true, "Traceparent": true, "Tracestate": true, HeaderID: true, HeaderTimestamp: true,
	HeaderTopic: true, HeaderPosition: true,
}

// secretTexts are what an endpoint may send back and nobody is to be shown, the longest first.
type secretTexts []string

// secretValues are the values of a request's headers, and what stands behind a word as in "Bearer …".
func secretValues(h http.Header) (all secretTexts) {
	for name, values := range h {
		if public[name] {
			continue
		}
		for _, v := range values {
			v = strings.TrimSpace(v)
			_, behind, _ := strings.Cut(v, " ")
			for _, s := range []string{v, strings.TrimSpace(behind)} {
				if len(s) >= minHidden {
					all = append(all, s)
				}
			}
		}
	}
	slices.SortFunc(all, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	return all
}

func (all secretTexts) longest() int {
	if len(all) == 0 {
		return 0
	}
	return len(all[0])
}

// hide answers the first bytes of text without what is secret, also where that goes on behind them.
func (all secretTexts) hide(text string, first int) string {
	var out strings.Builder
	for i := 0; i < len(text) && i < first; {
		n := slices.IndexFunc(all, func(s string) bool { return strings.HasPrefix(text[i:], s) })
		if n >= 0 {
			out.WriteString(redacted)
			i += len(all[n])
			continue
		}
		out.WriteByte(text[i])
		i++
	}
	return out.String()
}

func (all secretTexts) hideIn(err error) error {
	text := err.Error()
	if hidden := all.hide(text, len(text)); hidden != text {
		return errors.New(hidden)
	}
	return err
}
