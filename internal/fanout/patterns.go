package fanout

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/sqloutbox/sqloutbox/internal/jsontext"
	"github.com/sqloutbox/sqloutbox/internal/topics"
)

// EncodeTopics is the text for a subscription's row, or invalid.ErrOptions: it is too long for it.
func EncodeTopics(patterns []string) ([]byte, error) {
	text, err := jsontext.Bounded(patterns, jsontext.MaxBlob)
	if err != nil {
		return nil, fmt.Errorf("encode topics: %w", err)
	}
	return text, nil
}

// DecodeTopics reads what EncodeTopics has written.
func DecodeTopics(text []byte) (patterns []string, err error) {
	if err := json.Unmarshal(text, &patterns); err != nil {
		return nil, fmt.Errorf("decode topics: %w", err)
	}
	return patterns, nil
}

// Own reports whether a topic is one of this module's.
func Own(topic string) bool { return strings.HasPrefix(topic, OwnTopics) }

// Match reports whether a subscription with these patterns takes a topic.
func Match(patterns []string, topic string) bool {
	if !Own(topic) {
		return topics.Match(patterns, topic)
	}
	for _, p := range patterns {
		if Own(p) && topics.Match([]string{p}, topic) {
			return true
		}
	}
	return false
}
