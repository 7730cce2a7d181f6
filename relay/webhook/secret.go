package webhook

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"log/slog"
	"strings"
)

// Prefixes of keys, by the standard.
const (
	prefixSecret  = "whsec_" // HMAC-SHA256, known to both sides
	prefixPrivate = "whsk_"  // ed25519, the sender's alone
	prefixPublic  = "whpk_"  // ed25519, for receivers
)

// A symmetric secret has 24 to 64 bytes, by the standard; one that is made here has 32.
const (
	minSecret  = 24
	maxSecret  = 64
	madeSecret = 32
)

// redacted stands wherever a key would be printed.
const redacted = "[redacted]"

// Secret is a key that signs or verifies: "whsec_…" (HMAC-SHA256, signature v1), "whsk_…" (an ed25519 private key,
// signature v1a), or "whpk_…" (its public key, which only verifies). It shows itself to nobody but Reveal: printed, logged
// or encoded it is "[redacted]". The zero Secret is none.
type Secret struct{ key *key }

// key stands behind a pointer, so that no printing of a struct's fields reaches the bytes.
type key struct {
	prefix string
	bytes  []byte // the secret; the private key of 64 bytes; the public key of 32
}

// NewSecret makes a symmetric secret of 32 random bytes.
func NewSecret() Secret {
	b := make([]byte, madeSecret)
	rand.Read(b) // never fails
	return Secret{&key{prefixSecret, b}}
}

// NewPrivateKey makes an ed25519 key. Give the receiver its Public.
func NewPrivateKey() Secret {
	seed := make([]byte, ed25519.SeedSize)
	rand.Read(seed) // never fails
	return Secret{&key{prefixPrivate, ed25519.NewKeyFromSeed(seed)}}
}

// ParseSecret reads a key as Reveal writes it. Without a prefix it is taken for a symmetric secret, as by the standard's
// own libraries. An error never holds the text.
func ParseSecret(text string) (Secret, error) {
	prefix, rest := prefixSecret, text
	for _, p := range []string{prefixSecret, prefixPrivate, prefixPublic} {
		if after, ok := strings.CutPrefix(text, p); ok {
			prefix, rest = p, after
		}
	}
	b, err := base64.StdEncoding.Strict().DecodeString(rest)
	if err != nil {
		return Secret{}, fmt.Errorf("%w: not base64 behind %s", ErrSecret, prefix)
	}
	return newSecret(prefix, b)
}

func newSecret(prefix string, b []byte) (Secret, error) {
	switch n := len(b); {
	case prefix == prefixSecret && (n < minSecret || n > maxSecret):
		return Secret{}, fmt.Errorf("%w: %d bytes, where a symmetric one has %d to %d", ErrSecret, n, minSecret, maxSecret)
	case prefix == prefixPublic && n != ed25519.PublicKeySize:
		return Secret{}, fmt.Errorf("%w: %d bytes, where an ed25519 public key has %d", ErrSecret, n, ed25519.PublicKeySize)
	case prefix == prefixPrivate && n == ed25519.SeedSize:
		b = ed25519.NewKeyFromSeed(b)
	case prefix == prefixPrivate && n != ed25519.PrivateKeySize:
		return Secret{}, fmt.Errorf("%w: %d bytes, where an ed25519 private key has %d, or its seed %d",
			ErrSecret, n, ed25519.PrivateKeySize, ed25519.SeedSize)
	case prefix == prefixPrivate && !ed25519.NewKeyFromSeed(b[:ed25519.SeedSize]).Equal(ed25519.PrivateKey(b)):
		return Secret{}, fmt.Errorf("%w: the public half is not that of the private half", ErrSecret)
	}
	return Secret{&key{prefix, b}}, nil
}

// IsZero reports whether this is no key at all.
func (s Secret) IsZero() bool { return s.key == nil }

// Reveal is the key as text, for the one who is to have it.
func (s Secret) Reveal() string {
	if s.IsZero() {
		return ""
	}
	return s.key.prefix + encode(s.key.bytes)
}

// Public is what a receiver verifies with: the public key of a private one, and a symmetric secret itself.
func (s Secret) Public() Secret {
	if s.IsZero() || s.key.prefix != prefixPrivate {
		return s
	}
	return Secret{&key{prefixPublic, ed25519.PrivateKey(s.key.bytes).Public().(ed25519.PublicKey)}}
}

// signs reports whether a sender can sign with it.
func (s Secret) signs() bool { return !s.IsZero() && s.key.prefix != prefixPublic }

// String hides the key.
func (s Secret) String() string { return redacted }

// GoString hides it from %#v.
func (s Secret) GoString() string { return redacted }

// LogValue hides it from log/slog.
func (s Secret) LogValue() slog.Value { return slog.StringValue(redacted) }

// MarshalText hides it from encoding/json and the like.
func (s Secret) MarshalText() ([]byte, error) { return []byte(redacted), nil }
