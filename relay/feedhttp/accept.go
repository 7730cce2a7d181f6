package feedhttp

import (
	"mime"
	"strconv"
	"strings"
)

// format is how events are sent.
type format string

const (
	formatBatch    format = "application/cloudevents-batch+json"
	formatEnvelope format = "application/json"
	formatStream   format = "text/event-stream"
)

// formats in the order in which we prefer them.
var formats = []format{formatBatch, formatEnvelope, formatStream}

// mediaRange is an element of an Accept header.
type mediaRange struct {
	name    string // "text/event-stream", "text/*", "*/*"
	quality float64
}

// negotiate chooses the format that Accept headers want most (RFC 9110, 12.5.1): by quality, then the one that is named
// over one that a wildcard takes, then as we prefer. No header means anything.
func negotiate(accept []string) (format, bool) {
	ranges := parseAccept(strings.Join(accept, ","))
	if strings.TrimSpace(strings.Join(accept, "")) == "" {
		return formatBatch, true
	}
	var best format
	var bestQuality float64
	var bestFit int
	for _, f := range formats {
		quality, fit := judge(ranges, f)
		if quality > bestQuality || quality > 0 && quality == bestQuality && fit > bestFit {
			best, bestQuality, bestFit = f, quality, fit
		}
	}
	return best, bestQuality > 0
}

// judge answers the quality of a format by the range that fits it best, and how well that fits.
func judge(ranges []mediaRange, f format) (quality float64, fit int) {
	kind, _, _ := strings.Cut(string(f), "/")
	for _, r := range ranges {
		n := 0
		switch r.name {
		case string(f):
			n = 3
		case kind + "/*":
			n = 2
		case "*/*":
			n = 1
		}
		if n > fit {
			quality, fit = r.quality, n
		}
	}
	return quality, fit
}

// parseAccept reads what it can, and leaves out what is no media range.
func parseAccept(text string) (ranges []mediaRange) {
	for _, element := range splitQuoted(text) {
		name, params, err := mime.ParseMediaType(element)
		if err != nil || !strings.Contains(name, "/") {
			continue
		}
		quality := 1.0
		if q, ok := params["q"]; ok {
			if strings.Trim(q, "0123456789.") != "" { // ParseFloat takes more than a quality may be
				continue
			}
			if quality, err = strconv.ParseFloat(q, 64); err != nil || quality > 1 {
				continue
			}
		}
		ranges = append(ranges, mediaRange{name, quality})
	}
	return ranges
}

// splitQuoted splits at the commas that stand outside of quotes.
func splitQuoted(text string) (parts []string) {
	quoted, escaped, from := false, false, 0
	for i := range len(text) {
		switch c := text[i]; {
		case escaped:
			escaped = false
		case quoted && c == '\\':
			escaped = true
		case c == '"':
			quoted = !quoted
		case c == ',' && !quoted:
			parts, from = append(parts, text[from:i]), i+1
		}
	}
	return append(parts, text[from:])
}
