package feedhttp

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"mime"
	"strings"
	"unicode/utf8"
)

// maxNesting of a payload that goes along as JSON. Some parsers stop at 64, and one such event would spoil every page that
// it is on, for good.
const maxNesting = 60

// writeData writes a payload by its content type. JSON goes along as it is, but for white space between its parts; text as
// a string; everything else, and what is not what its type says, as base64, byte for byte. Without a content type an object
// or an array is taken for JSON, and nothing else is guessed.
func writeData(b *bytes.Buffer, contentType string, payload []byte) {
	media, params, err := mime.ParseMediaType(contentType)
	known := err == nil && strings.Contains(media, "/")
	asJSON := isJSON(media)
	if !known {
		if asJSON = looksJSON(payload) && fitsJSON(payload); asJSON && contentType == "" {
			contentType, known = "application/json", true
		}
	}
	if known {
		member(b, "datacontenttype", contentType)
	}
	charset := strings.ToLower(params["charset"])
	switch {
	case len(payload) == 0:
	case known && asJSON && fitsJSON(payload):
		b.WriteString(`,"data":`)
		_ = json.Compact(b, payload) // fitsJSON has looked
	case known && !asJSON && strings.HasPrefix(media, "text/") && (charset == "" || charset == "utf-8" || charset == "us-ascii") && utf8.Valid(payload):
		b.WriteString(`,"data":`)
		text(b, string(payload))
	default:
		b.WriteString(`,"data_base64":"`)
		b.Write(base64.StdEncoding.AppendEncode(b.AvailableBuffer(), payload))
		b.WriteByte('"')
	}
}

// isJSON leaves out types as "application/x+json", which CloudEvents' Go SDK expects as a string where the specification has
// JSON. Base64 means the same to everybody.
func isJSON(media string) bool { return media == "application/json" || media == "text/json" }

func looksJSON(payload []byte) bool {
	start := bytes.TrimLeft(payload, " \t\r\n")
	return len(start) > 0 && (start[0] == '{' || start[0] == '[')
}

// fitsJSON reports whether a payload can stand inside of a JSON text. json.Valid takes strings that are not UTF-8.
func fitsJSON(payload []byte) bool {
	return utf8.Valid(payload) && json.Valid(payload) && nesting(payload) <= maxNesting
}

// nesting is how deep objects and arrays lie in each other.
func nesting(valid []byte) (deepest int) {
	depth, quoted, escaped := 0, false, false
	for _, c := range valid {
		switch {
		case escaped:
			escaped = false
		case quoted && c == '\\':
			escaped = true
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			depth++
			deepest = max(deepest, depth)
		case c == '}' || c == ']':
			depth--
		}
	}
	return deepest
}
