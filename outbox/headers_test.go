package outbox

import (
	"maps"
	"strings"
	"testing"
)

func TestHeadersComeOutAsTheyWentIn(t *testing.T) {
	for _, h := range []map[string]string{
		nil,
		{"content-type": "application/json", "traceparent": "00-4bf9-00f0-01"},
		{"quotes and <tags>": `"\&' `, "rtl": "\u200fשלום", "emoji": "🙂"},
	} {
		b, err := encodeHeaders(h)
		if err != nil {
			t.Fatal(err)
		}
		got, err := DecodeHeaders(b)
		if err != nil || !maps.Equal(got, h) {
			t.Errorf("%v, %v; want %v", got, err, h)
		}
	}
}

func TestBadHeadersAreRefused(t *testing.T) {
	for name, h := range map[string]map[string]string{
		"an empty name": {"": "x"},
		"NUL":           {"a": "\x00"},
		"invalid UTF-8": {"\xff": "x"},
		"too large":     {"a": strings.Repeat("x", MaxHeadersLen)},
	} {
		if _, err := encodeHeaders(h); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
}

func FuzzDecodeHeaders(f *testing.F) {
	f.Add([]byte(`{"a":"b"}`))
	f.Add([]byte(`{"a":1}`))
	f.Add([]byte(`null`))
	f.Fuzz(func(t *testing.T, b []byte) {
		h, err := DecodeHeaders(b)
		if err != nil || len(h) == 0 {
			return
		}
		again, err := encodeHeaders(h)
		if err != nil {
			return // what a writer of plain SQL stored may break our own limits
		}
		if got, err := DecodeHeaders(again); err != nil || !maps.Equal(got, h) {
			t.Errorf("%v, %v; want %v", got, err, h)
		}
	})
}
