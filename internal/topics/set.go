package topics

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/sqloutbox/sqloutbox/internal/jsontext"
)

// Set are a handler's patterns as the database knows them.
type Set []Pattern

// Pattern is one of them. A pattern that was added to a handler later has a beginning of its own.
type Pattern struct {
	Topic string `json:"topic"`
	From  int64  `json:"from"` // the first seq that it takes; -1: not decided yet
	// Retired: it was taken away for good, and an older release that starts again does not bring it back.
	Retired bool `json:"retired,omitempty"`
}

// Of are patterns that begin where their handler does.
func Of(patterns []string) Set {
	s := make(Set, len(patterns))
	for i, p := range patterns {
		s[i].Topic = p
	}
	return s
}

// Names are the patterns alone, without those that are retired.
func (s Set) Names() []string {
	names := make([]string, 0, len(s))
	for _, p := range s {
		if !p.Retired {
			names = append(names, p.Topic)
		}
	}
	return names
}

// Has reports whether a pattern is one of them, or was.
func (s Set) Has(pattern string) (has, retired bool) {
	i := slices.IndexFunc(s, func(p Pattern) bool { return p.Topic == pattern })
	return i >= 0, i >= 0 && s[i].Retired
}

// Retire takes patterns away, and answers one that is none of them, if there is any.
func (s Set) Retire(patterns []string) (unknown string, ok bool) {
	for _, pattern := range patterns {
		i := slices.IndexFunc(s, func(p Pattern) bool { return p.Topic == pattern })
		if i < 0 {
			return pattern, false
		}
		s[i] = Pattern{Topic: pattern, Retired: true}
	}
	return "", true
}

// Match reports whether one of them takes an event.
func (s Set) Match(topic string, seq int64) bool {
	return slices.ContainsFunc(s, func(p Pattern) bool { return !p.Retired && seq >= p.From && matches(p.Topic, topic) })
}

// Takes reports whether one of them takes a topic, wherever it begins.
func (s Set) Takes(topic string) bool {
	return slices.ContainsFunc(s, func(p Pattern) bool { return !p.Retired && matches(p.Topic, topic) })
}

// Undecided reports whether one of them has no beginning yet.
func (s Set) Undecided() bool {
	return slices.ContainsFunc(s, func(p Pattern) bool { return p.From < 0 })
}

// Decide gives those a beginning that have none.
func (s Set) Decide(from int64) {
	for i := range s {
		if s[i].From < 0 {
			s[i].From = from
		}
	}
}

// Encode is the text for a handler's row: a string for a pattern without a beginning of its own, or an end.
func Encode(s Set) ([]byte, error) {
	all := make([]any, len(s))
	for i, p := range s {
		if all[i] = p; p.From == 0 && !p.Retired {
			all[i] = p.Topic
		}
	}
	return jsontext.Encode(all)
}

// Decode reads what Encode has written.
func Decode(text []byte) (Set, error) {
	var all []json.RawMessage
	if err := json.Unmarshal(text, &all); err != nil {
		return nil, fmt.Errorf("decode topics: %w", err)
	}
	s := make(Set, len(all))
	for i, one := range all {
		if json.Unmarshal(one, &s[i].Topic) == nil {
			continue
		}
		if err := json.Unmarshal(one, &s[i]); err != nil {
			return nil, fmt.Errorf("decode topics: %w", err)
		}
	}
	return s, nil
}
