package outbox

import (
	"encoding/json"
	"fmt"

	"github.com/sqloutbox/sqloutbox/internal/jsontext"
	"github.com/sqloutbox/sqloutbox/internal/plaintext"
)

// Headers are stored as a JSON object in bytes, or as nothing when there are none, so that writers in other languages
// can set them.

func encodeHeaders(h map[string]string) ([]byte, error) {
	if len(h) == 0 {
		return []byte{}, nil
	}
	for name, value := range h {
		if name == "" {
			return nil, fmt.Errorf("have an empty name")
		}
		if reason := plaintext.Bad(name, MaxHeadersLen); reason != "" {
			return nil, fmt.Errorf("name %q %s", name, reason)
		}
		if reason := plaintext.Bad(value, MaxHeadersLen); reason != "" {
			return nil, fmt.Errorf("value of %q %s", name, reason)
		}
	}
	b, err := jsontext.Encode(h)
	if err != nil {
		return nil, err
	}
	if len(b) > MaxHeadersLen {
		return nil, fmt.Errorf("have %d bytes as JSON; at most %d are allowed", len(b), MaxHeadersLen)
	}
	return b, nil
}

// DecodeHeaders reads the headers column of an event: a JSON object of text pairs, or nothing.
func DecodeHeaders(b []byte) (map[string]string, error) {
	if len(b) == 0 {
		return nil, nil
	}
	var h map[string]string
	if err := json.Unmarshal(b, &h); err != nil {
		return nil, fmt.Errorf("decode headers: %w", err)
	}
	return h, nil
}
