package webhook

import (
	"crypto/ed25519"
	"encoding/base64"
	"net/http"
	"strings"
	"testing"
	"time"
)

// The vector that the standard's own libraries test with.
const (
	vectorSecret    = "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	vectorID        = "msg_p5jXN8AQM9LWM0D4loKWxJek"
	vectorBody      = `{"test": 2432232314}`
	vectorSignature = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
)

var vectorTime = time.Unix(1614265330, 0)

func TestSignatureIsThatOfTheStandardsVector(t *testing.T) {
	h := http.Header{}
	Sign(h, vectorID, vectorTime, []byte(vectorBody), mustParse(t, vectorSecret))
	if got := h.Get("webhook-signature"); got != vectorSignature {
		t.Errorf("got %s, want %s", got, vectorSignature)
	}
	if h.Get("webhook-id") != vectorID || h.Get("webhook-timestamp") != "1614265330" {
		t.Errorf("headers %v", h)
	}
}

// By the standard library, over what the standard says is signed: id, a full stop, the timestamp, a full stop, the body.
func TestAnEd25519SignatureIsThatOfTheStandard(t *testing.T) {
	private := ed25519.NewKeyFromSeed([]byte("the seed of a key has 32 bytes.."))
	h := http.Header{}
	Sign(h, vectorID, vectorTime, []byte(vectorBody), mustParse(t, "whsk_"+base64.StdEncoding.EncodeToString(private)))
	got, _ := strings.CutPrefix(h.Get("webhook-signature"), "v1a,")
	signature, err := base64.StdEncoding.DecodeString(got)
	signed := vectorID + ".1614265330." + vectorBody
	if err != nil || !ed25519.Verify(private.Public().(ed25519.PublicKey), []byte(signed), signature) {
		t.Errorf("signature %q, %v", h.Get("webhook-signature"), err)
	}
}

func TestEachKeySignsOnce(t *testing.T) {
	h := http.Header{}
	private := NewPrivateKey()
	Sign(h, "id", time.Now(), []byte("x"), NewSecret(), private, NewSecret(), private.Public(), Secret{})
	list := strings.Split(h.Get(HeaderSignature), " ")
	if len(list) != 3 || !strings.HasPrefix(list[0], "v1,") || !strings.HasPrefix(list[1], "v1a,") || !strings.HasPrefix(list[2], "v1,") {
		t.Errorf("signatures %q", list)
	}
}

func TestIDsThatAreNoHeadersAreEncoded(t *testing.T) {
	for from, want := range map[string]string{
		"0196b0f2-7e7c-7d0a-8c1e-3f0c5a7b9d11": "0196b0f2-7e7c-7d0a-8c1e-3f0c5a7b9d11",
		"order:1/2~_":                          "order:1/2~_",
		"a.1614265330":                         "a%2E1614265330",
		"a\r\nX-Evil: 1":                       "a%0D%0AX-Evil:%201",
		"100%2E":                               "100%252E",
		"ü":                                    "%C3%BC",
	} {
		if got := ID(from); got != want {
			t.Errorf("%q became %q, want %q", from, got, want)
		}
	}
}
