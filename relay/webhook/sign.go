package webhook

import (
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Headers of the standard.
const (
	HeaderID        = "Webhook-Id"        // the event's id, the same on each try
	HeaderTimestamp = "Webhook-Timestamp" // of this try, in Unix seconds
	HeaderSignature = "Webhook-Signature" // one for each key, a space between
)

// Versions of a signature.
const (
	versionHMAC    = "v1"
	versionEd25519 = "v1a"
)

// Sign sets the headers of the standard, with one signature for each key; several while keys change. Public and zero
// keys sign nothing. The id is written as ID does it.
func Sign(h http.Header, id string, at time.Time, body []byte, keys ...Secret) {
	id = ID(id)
	stamp := strconv.FormatInt(at.Unix(), 10)
	content := content(id, stamp, body)
	var signatures []string
	for _, k := range keys {
		if k.signs() {
			version, mac := k.sign(content)
			signatures = append(signatures, version+","+encode(mac))
		}
	}
	h.Set(HeaderID, id)
	h.Set(HeaderTimestamp, stamp)
	h.Set(HeaderSignature, strings.Join(signatures, " "))
}

func encode(b []byte) string { return base64.StdEncoding.EncodeToString(b) }

// content is what is signed.
func content(id, stamp string, body []byte) []byte {
	out := make([]byte, 0, len(id)+len(stamp)+len(body)+2)
	out = append(out, id...)
	out = append(out, '.')
	out = append(out, stamp...)
	out = append(out, '.')
	return append(out, body...)
}

func (s Secret) sign(content []byte) (version string, signature []byte) {
	if s.key.prefix == prefixPrivate {
		return versionEd25519, ed25519.Sign(s.key.bytes, content)
	}
	h := hmac.New(sha256.New, s.key.bytes)
	h.Write(content)
	return versionHMAC, h.Sum(nil)
}

// ID is an event's id as it stands in the header Webhook-Id: what is not a letter, a digit, '-', '_', '~', ':' or '/' is
// percent-encoded. A full stop would let what was signed be cut in another place, and a line break is no header. An id
// that the outbox makes is the same. One that would become longer than 255 bytes, what outbox.Inbox takes, is "%~" and base64url
// instead: so every id that an outbox accepts stays below, and no two become the same.
func ID(event string) string {
	out := percentID(event)
	if len(out) > maxID {
		return "%~" + base64.RawURLEncoding.EncodeToString([]byte(event))
	}
	return out
}

// maxID is the longest id that outbox.Inbox takes, in bytes.
const maxID = 255

func percentID(event string) string {
	var out strings.Builder
	for i := range len(event) {
		if c := event[i]; plain(c) {
			out.WriteByte(c)
		} else {
			const hex = "0123456789ABCDEF"
			out.Write([]byte{'%', hex[c>>4], hex[c&15]})
		}
	}
	return out.String()
}

func plain(c byte) bool {
	return alphanumeric(c) || strings.IndexByte("-_~:/", c) >= 0
}

func alphanumeric(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
}
