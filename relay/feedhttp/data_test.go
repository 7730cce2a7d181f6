package feedhttp

import (
	"bytes"
	"encoding/base64"
	"strings"
	"testing"
)

func TestPayloadsGoAlongByTheirType(t *testing.T) {
	deep := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	for _, c := range []struct{ contentType, payload, want string }{
		{"", "", ``},
		{"application/json", "", `,"datacontenttype":"application/json"`},
		// JSON
		{"", "\n{\"a\": [1, \"b c\"]}\r\n", `,"datacontenttype":"application/json","data":{"a":[1,"b c"]}`},
		{"application/json", " 12345678901234567890.10 ", `,"datacontenttype":"application/json","data":12345678901234567890.10`},
		{"Application/JSON; charset=utf-8", `"\ud800é<&>"`, `,"datacontenttype":"Application/JSON; charset=utf-8","data":"\ud800é<&>"`},
		{"text/json", `null`, `,"datacontenttype":"text/json","data":null`},
		{"application/json", deep(60), `,"datacontenttype":"application/json","data":` + deep(60)},
		// what says JSON, and is not, or would spoil the page
		{"application/json", "{", `,"datacontenttype":"application/json","data_base64":"ew=="`},
		{"application/json", "\"\xff\"", `,"datacontenttype":"application/json","data_base64":"Iv8i"`},
		{"application/json", `{"a":1}{"b":2}`, `,"datacontenttype":"application/json","data_base64":"eyJhIjoxfXsiYiI6Mn0="`},
		{"application/json", deep(61), `,"datacontenttype":"application/json","data_base64":"` + base64.StdEncoding.EncodeToString([]byte(deep(61))) + `"`},
		{"application/vnd.shop.v1+json", `{}`, `,"datacontenttype":"application/vnd.shop.v1+json","data_base64":"e30="`},
		// text
		{"text/plain", "a\r\nid: 7\n\n\"\x00<\u2028", `,"datacontenttype":"text/plain","data":"a\r\nid: 7\n\n\"\u0000<\u2028"`},
		{"text/plain; charset=UTF-8", "ü", `,"datacontenttype":"text/plain; charset=UTF-8","data":"ü"`},
		{"text/plain", "\xfc", `,"datacontenttype":"text/plain","data_base64":"/A=="`},
		{"text/plain; charset=iso-8859-1", "u", `,"datacontenttype":"text/plain; charset=iso-8859-1","data_base64":"dQ=="`},
		// the rest
		{"application/octet-stream", "abc", `,"datacontenttype":"application/octet-stream","data_base64":"YWJj"`},
		{"application/xml", "<a/>", `,"datacontenttype":"application/xml","data_base64":"PGEvPg=="`},
		{"", "12345678901234567890", `,"data_base64":"MTIzNDU2Nzg5MDEyMzQ1Njc4OTA="`},
		{"", "plain", `,"data_base64":"cGxhaW4="`},
		{"", "\xff\xfe", `,"data_base64":"//4="`},
		{"no type", `{}`, `,"data_base64":"e30="`},
		{"json", `{}`, `,"data_base64":"e30="`},
		{"text/plain;=\r\nx", `a`, `,"data_base64":"YQ=="`},
	} {
		var b bytes.Buffer
		writeData(&b, c.contentType, []byte(c.payload))
		if b.String() != c.want {
			t.Errorf("%q of type %q:\ngot  %s\nwant %s", c.payload, c.contentType, b.String(), c.want)
		}
	}
}

func TestTheContentTypeHeaderIsFoundHoweverItIsSpelt(t *testing.T) {
	for _, c := range []struct {
		headers map[string]string
		want    string
	}{
		{nil, ""},
		{map[string]string{"type": "a/b"}, ""},
		{map[string]string{"Content-Type": "a/b"}, "a/b"},
		{map[string]string{"content-type": "a/b", "Content-Type": "c/d"}, "a/b"},
		{map[string]string{"Content-Type": "a/b", "CONTENT-TYPE": "c/d"}, "c/d"},
		{map[string]string{"content-type": "", "Content-Type": "c/d"}, ""},
	} {
		if got := contentType(c.headers); got != c.want {
			t.Errorf("%v: %q, want %q", c.headers, got, c.want)
		}
	}
}
