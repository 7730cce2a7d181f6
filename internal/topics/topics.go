// Package topics tells which topics a handler takes. A pattern is a topic's exact name, a prefix with ".*" behind it, or
// "*".
package topics

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Check says what is wrong with a pattern.
func Check(pattern string) error {
	rest := strings.TrimSuffix(pattern, ".*")
	valid := utf8.ValidString(pattern) && !strings.Contains(pattern, "\x00")
	if valid && (pattern == "*" || rest != "" && !strings.Contains(rest, "*")) {
		return nil
	}
	return fmt.Errorf("topic %q: a pattern is an exact name, \"prefix.*\" or \"*\"", pattern)
}

// Match reports whether one of the patterns takes a topic.
func Match(patterns []string, topic string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return matches(p, topic) })
}

func matches(pattern, topic string) bool {
	if prefix, ok := strings.CutSuffix(pattern, "*"); ok {
		return strings.HasPrefix(topic, prefix)
	}
	return pattern == topic
}
