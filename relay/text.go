package relay

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// maxErrorText is how much of an error's text is kept, in bytes.
const maxErrorText = 2000

// errorText is the text of err as any engine takes it: valid UTF-8, no NUL, cut at a rune. It can't fail, even where
// Error panics, so that recording a failure does not depend on the failure's text.
func errorText(err error) (text string) {
	defer func() {
		if p := recover(); p != nil {
			text = fmt.Sprintf("%T: its Error method panicked", err)
		}
	}()
	return cutText(err.Error(), maxErrorText)
}

func cutText(s string, limit int) string {
	if len(s) > 4*limit {
		s = s[:4*limit] // enough for what follows, and bounded
	}
	s = strings.ToValidUTF8(s, "\uFFFD")
	s = strings.ReplaceAll(s, "\x00", "\uFFFD")
	if len(s) <= limit {
		return s
	}
	cut := limit
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut]
}
