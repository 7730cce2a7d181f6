package webhook

import (
	"encoding/json"
	"fmt"

	"github.com/sqloutbox/sqloutbox/internal/invalid"
)

// storedKey is a secret as it stands in a subscription's row.
type storedKey struct {
	Key   string `json:"key"`
	Until int64  `json:"until,omitempty"` // ms: signs no longer then; 0: for good
}

// MaxSecrets is how many secrets of a subscription sign at once, at most: Verify takes as many signatures.
const MaxSecrets = maxSignatures

func encodeKeys(keys []storedKey) ([]byte, error) {
	if len(keys) > MaxSecrets {
		return nil, fmt.Errorf("%w: %d secrets would sign, at most %d: rotate with a shorter keep, or 0", invalid.ErrOptions, len(keys), MaxSecrets)
	}
	return json.Marshal(keys)
}

func decodeKeys(text []byte) (keys []storedKey, err error) {
	if json.Unmarshal(text, &keys) != nil { // its error could show what it has read
		return nil, fmt.Errorf("%w: the column secrets can't be read", ErrSecret)
	}
	return keys, nil
}

// signing are the secrets that sign at a time by the database's clock, the newest first.
func signing(text []byte, now int64) ([]Secret, error) {
	keys, err := decodeKeys(text)
	if err != nil {
		return nil, err
	}
	var out []Secret
	for _, k := range keys {
		if k.Until != 0 && k.Until <= now {
			continue
		}
		s, err := ParseSecret(k.Key)
		if err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, nil
}

// rotated puts a new key first. The others sign until a time, or as long as they did before if that is sooner.
func rotated(text []byte, fresh Secret, now, until int64) ([]byte, error) {
	old, err := decodeKeys(text)
	if err != nil {
		return nil, err
	}
	keys := []storedKey{{Key: fresh.Reveal()}}
	for _, k := range old {
		if k.Until == 0 || k.Until > until {
			k.Until = until
		}
		if k.Until > now && k.Key != fresh.Reveal() {
			keys = append(keys, k)
		}
	}
	return encodeKeys(keys)
}
