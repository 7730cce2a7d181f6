// Package plaintext holds the one verdict on text for all engines. PostgreSQL refuses NUL and broken UTF-8, MySQL only the latter,
// SQLite neither, and a lax sql_mode cuts what is too long: so the database is never asked.
package plaintext

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Bad is why s can't be kept as text of at most limit bytes, or "".
func Bad(s string, limit int) string {
	switch {
	case len(s) > limit:
		return fmt.Sprintf("has %d bytes; at most %d are allowed", len(s), limit)
	case !utf8.ValidString(s):
		return "is not valid UTF-8"
	case strings.IndexByte(s, 0) >= 0:
		return "holds a NUL character"
	}
	return ""
}

// BadName is Bad for what must not be empty.
func BadName(s string, limit int) string {
	if s == "" {
		return "is empty"
	}
	return Bad(s, limit)
}

// Cut is s as it can be kept: valid UTF-8, no NUL, of at most limit bytes, cut at a rune.
func Cut(s string, limit int) string {
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
