package feedhttp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/sqloutbox/sqloutbox/outbox"
)

// attributes are the names that CloudEvents has taken, and those that every event has from here.
var attributes = []string{
	"specversion", "id", "source", "type", "subject", "time", "datacontenttype", "dataschema", "data",
	"sequence", "cursor",
}

// encode is an event in the JSON format of CloudEvents 1.0, on one line.
func (h *Handler) encode(e *outbox.FeedEvent) []byte {
	var b bytes.Buffer
	b.Grow(len(e.Event.Payload)*4/3 + 512)
	b.WriteString(`{"specversion":"1.0"`)
	member(&b, "id", e.Event.ID)
	member(&b, "source", h.opts.Source)
	member(&b, "type", e.Event.Topic)
	if e.Event.Key != "" {
		member(&b, "subject", e.Event.Key)
	}
	member(&b, "time", e.PublishedAt.UTC().Format(time.RFC3339Nano))
	member(&b, "cursor", e.Cursor.String())
	// CloudEvents' own extension: a text that sorts as the numbers do.
	member(&b, "sequence", fmt.Sprintf("%019d", e.Cursor.Seq))
	h.encodeExtensions(&b, e.Event.Headers)
	writeData(&b, contentType(e.Event.Headers), e.Event.Payload)
	b.WriteByte('}')
	return b.Bytes()
}

func (h *Handler) encodeExtensions(b *bytes.Buffer, headers map[string]string) {
	for _, header := range slices.Sorted(maps.Keys(h.opts.Extensions)) {
		if v := headers[header]; v != "" {
			member(b, h.opts.Extensions[header], v)
		}
	}
}

// contentType is the header of this name, however it is spelt.
func contentType(headers map[string]string) string {
	const name = "content-type"
	if v, ok := headers[name]; ok {
		return v
	}
	var spelt []string
	for k := range headers {
		if strings.EqualFold(k, name) {
			spelt = append(spelt, k)
		}
	}
	if len(spelt) == 0 {
		return ""
	}
	return headers[slices.Min(spelt)]
}

// member writes a member whose value is a text, behind another.
func member(b *bytes.Buffer, name, value string) {
	b.WriteString(`,"` + name + `":`)
	text(b, value)
}

// text writes a JSON string; what is not UTF-8 in it, as a writer of plain SQL may leave on some engines, is replaced.
func text(b *bytes.Buffer, value string) {
	enc := json.NewEncoder(b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(value)   // a string, into memory
	b.Truncate(b.Len() - 1) // the line's end
}
