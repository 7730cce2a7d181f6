package webhook

import (
	"crypto/ed25519"
	"crypto/hmac"
	"encoding/base64"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Tolerance is how far the timestamp of a request may be from the receiver's clock, to either side.
const Tolerance = 5 * time.Minute

// maxSignatures bounds the work that a stranger's header can ask for: each is tried with each key.
const maxSignatures = 32

// Verify is for receivers: it answers with the Webhook-Id of a request that was signed with one of the keys not longer
// than Tolerance ago, and with an error for all others. It compares in constant time. body is the body as it came, byte for
// byte; keys are "whsec_…" or "whpk_…", several while they change. An id with a full stop in it is refused (ErrHeaders): id, timestamp
// and body are signed with full stops between them, and who has overheard a request could make a part of the body a part of the id,
// which nobody has seen yet then. The standard warns senders of such ids, and none of this package's has one: see ID.
//
// The id is the same on each try: whoever keeps it, with outbox.Inbox for one, handles each event once, whether it is sent
// again by the sender or by somebody who has overheard it. A Verifier refuses the latter without a database.
func Verify(h http.Header, body []byte, keys ...Secret) (id string, err error) {
	return verify(h, body, time.Now(), keys)
}

func verify(h http.Header, body []byte, now time.Time, keys []Secret) (string, error) {
	id, stamp, signatures, err := readHeaders(h)
	if err != nil {
		return "", fmt.Errorf("verify webhook: %w", err)
	}
	at, err := strconv.ParseInt(stamp, 10, 64)
	if err != nil || strconv.FormatInt(at, 10) != stamp { // what is signed is the text
		return "", fmt.Errorf("verify webhook: %w: %s is no number", ErrHeaders, HeaderTimestamp)
	}
	const span = int64(Tolerance / time.Second)
	if s := now.Unix(); at < s-span || at > s+span {
		return "", fmt.Errorf("verify webhook: %w", ErrTimestamp)
	}
	content := content(id, stamp, body)
	for _, k := range keys {
		if k.fits(content, signatures) {
			return id, nil
		}
	}
	return "", fmt.Errorf("verify webhook: %w", ErrSignature)
}

// readHeaders refuses a header that is there twice: who else reads the request might take the other one. It refuses an id with a full
// stop, too: what is signed could be cut in another place.
func readHeaders(h http.Header) (id, stamp string, signatures []string, err error) {
	var values [3]string
	for i, name := range []string{HeaderID, HeaderTimestamp, HeaderSignature} {
		all := h.Values(name)
		if len(all) != 1 || all[0] == "" {
			return "", "", nil, fmt.Errorf("%w: %s is there %d times or empty", ErrHeaders, name, len(all))
		}
		values[i] = all[0]
	}
	if strings.Contains(values[0], ".") {
		return "", "", nil, fmt.Errorf("%w: %s has a full stop in it, where what is signed could be cut in another place", ErrHeaders, HeaderID)
	}
	signatures = strings.Split(values[2], " ")
	if len(signatures) > maxSignatures {
		return "", "", nil, fmt.Errorf("%w: %d signatures, at most %d", ErrHeaders, len(signatures), maxSignatures)
	}
	return values[0], values[1], signatures, nil
}

// fits reports whether one of the signatures is the key's. A key is asked about signatures of its own kind alone.
func (s Secret) fits(content []byte, signatures []string) bool {
	if s.IsZero() {
		return false
	}
	s = s.Public()
	version, public := versionEd25519, s.key.prefix == prefixPublic
	var mac []byte
	if !public {
		version, mac = s.sign(content)
	}
	for _, text := range signatures {
		rest, ok := strings.CutPrefix(text, version+",")
		if !ok {
			continue
		}
		signature, err := base64.StdEncoding.Strict().DecodeString(rest)
		switch {
		case err != nil:
		case public && ed25519.Verify(s.key.bytes, content, signature), !public && hmac.Equal(mac, signature):
			return true
		}
	}
	return false
}
