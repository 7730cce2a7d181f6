package relay

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"
)

type panicking struct{}

func (panicking) Error() string { panic("no text") }

func TestErrorTextsAreKeptAsAnyEngineTakesThem(t *testing.T) {
	for name, err := range map[string]error{
		"a mebibyte":           errors.New(strings.Repeat("x", 1<<20)),
		"NUL":                  errors.New("a\x00b"),
		"invalid UTF-8":        errors.New("a\xc3\x28b"),
		"cut inside a rune":    errors.New(strings.Repeat("x", maxErrorText-1) + "€"),
		"invalid at the bound": errors.New(strings.Repeat("\xff", 4*maxErrorText+1)),
		"empty":                errors.New(""),
		"panics":               panicking{},
	} {
		text := errorText(err)
		if len(text) > maxErrorText || !utf8.ValidString(text) || strings.Contains(text, "\x00") {
			t.Errorf("%s: %d bytes, valid %v", name, len(text), utf8.ValidString(text))
		}
	}
	if got := errorText(errors.New("as it is: €")); got != "as it is: €" {
		t.Errorf("a good text is changed to %q", got)
	}
	if got := errorText(panicking{}); !strings.Contains(got, "panicking") {
		t.Errorf("%q does not name the type", got)
	}
}
