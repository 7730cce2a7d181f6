package webhook

import (
	"errors"
	"net/http"
	"strconv"
	"testing"
	"testing/synctest"
	"time"
)

func signed(at time.Time, keys ...Secret) (http.Header, []byte) {
	h, body := http.Header{}, []byte(vectorBody)
	Sign(h, vectorID, at, body, keys...)
	return h, body
}

func wantVerdict(t *testing.T, what string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) || (want == nil) != (err == nil) {
		t.Errorf("%s: got %v, want %v", what, err, want)
	}
}

func TestWhatIsSignedIsAcceptedAndGivesTheID(t *testing.T) {
	a, b, private := NewSecret(), NewSecret(), NewPrivateKey()
	for what, c := range map[string]struct{ sender, receiver []Secret }{
		"one secret":                   {[]Secret{a}, []Secret{a}},
		"public key":                   {[]Secret{private}, []Secret{private.Public()}},
		"the sender rotates":           {[]Secret{a, b}, []Secret{a}},
		"the receiver has the new one": {[]Secret{a, b}, []Secret{b}},
		"the receiver rotates":         {[]Secret{a}, []Secret{b, a}},
		"from HMAC to ed25519":         {[]Secret{a, private}, []Secret{private.Public()}},
	} {
		h, body := signed(time.Now(), c.sender...)
		id, err := Verify(h, body, c.receiver...)
		if err != nil || id != vectorID {
			t.Errorf("%s: %q, %v", what, id, err)
		}
	}
}

func TestWhatIsTamperedWithIsRefused(t *testing.T) {
	for _, k := range []Secret{NewSecret(), NewPrivateKey()} {
		now := time.Now()
		h, body := signed(now, k)
		later, _ := signed(now.Add(time.Second), k)
		change := func(name, value string) http.Header {
			c := h.Clone()
			c.Set(name, value)
			return c
		}
		verify := func(h http.Header, body string, keys ...Secret) error {
			_, err := Verify(h, []byte(body), keys...)
			return err
		}
		wantVerdict(t, "untouched", verify(h, string(body), k.Public()), nil)
		wantVerdict(t, "body", verify(h, string(body)+" ", k.Public()), ErrSignature)
		wantVerdict(t, "id", verify(change(HeaderID, vectorID+"x"), string(body), k.Public()), ErrSignature)
		wantVerdict(t, "a newer timestamp", verify(change(HeaderTimestamp, later.Get(HeaderTimestamp)), string(body), k.Public()), ErrSignature)
		wantVerdict(t, "another's key", verify(h, string(body), NewSecret(), NewPrivateKey().Public()), ErrSignature)
		wantVerdict(t, "no key", verify(h, string(body)), ErrSignature)
		wantVerdict(t, "the zero key", verify(h, string(body), Secret{}), ErrSignature)
		for _, signature := range []string{"v1", "v1,", "v1a,", "v2,AAAA", "v1,!", ",", "v1," + vectorSignature[3:]} {
			wantVerdict(t, signature, verify(change(HeaderSignature, signature), string(body), k.Public()), ErrSignature)
		}
	}
}

// A public key is known to everybody: taken for a symmetric secret it would let everybody sign.
func TestAPublicKeyIsNeverASecret(t *testing.T) {
	public := NewPrivateKey().Public()
	forged := Secret{&key{prefixSecret, public.key.bytes}}
	h, body := signed(time.Now(), forged)
	_, err := Verify(h, body, public)
	wantVerdict(t, "forged with the public key", err, ErrSignature)
}

func TestHeadersMustBeThereOnce(t *testing.T) {
	k := NewSecret()
	for _, name := range []string{HeaderID, HeaderTimestamp, HeaderSignature} {
		h, body := signed(time.Now(), k)
		h.Add(name, h.Get(name))
		_, err := Verify(h, body, k)
		wantVerdict(t, name+" twice", err, ErrHeaders)
		h.Del(name)
		_, err = Verify(h, body, k)
		wantVerdict(t, "without "+name, err, ErrHeaders)
		h.Set(name, "")
		_, err = Verify(h, body, k)
		wantVerdict(t, name+" empty", err, ErrHeaders)
	}
	for _, stamp := range []string{"now", "1e9", "+1614265330", "01614265330", " 1614265330", "99999999999999999999"} {
		h, body := signed(time.Now(), k)
		h.Set(HeaderTimestamp, stamp)
		_, err := Verify(h, body, k)
		wantVerdict(t, stamp, err, ErrHeaders)
	}
}

// Whoever has overheard a request gives it an id that nobody has seen: a part of what was the body.
func TestWhatWasSignedIsNotCutInAnotherPlace(t *testing.T) {
	now := vectorTime
	stamp := strconv.FormatInt(now.Unix(), 10)
	body := `{"at":"` + "." + stamp + "." + `"}`
	for _, k := range []Secret{NewSecret(), NewPrivateKey()} {
		h := http.Header{}
		Sign(h, vectorID, now, []byte(body), k)
		if _, err := verify(h, []byte(body), now, []Secret{k.Public()}); err != nil {
			t.Error(err)
		}
		h.Set(HeaderID, vectorID+"."+stamp+`.{"at":"`)
		_, err := verify(h, []byte(`"}`), now, []Secret{k.Public()})
		wantVerdict(t, "cut in another place", err, ErrHeaders)
	}
}

func TestTimestampsAreTakenWithinFiveMinutes(t *testing.T) {
	k := NewSecret()
	now := vectorTime
	for off, want := range map[time.Duration]error{
		0:                           nil,
		-Tolerance:                  nil,
		Tolerance:                   nil,
		-Tolerance - time.Second:    ErrTimestamp,
		Tolerance + time.Second:     ErrTimestamp,
		-100 * 365 * 24 * time.Hour: ErrTimestamp,
	} {
		h, body := signed(now.Add(off), k)
		_, err := verify(h, body, now, []Secret{k})
		wantVerdict(t, off.String(), err, want)
	}
}

func TestAVerifierRefusesWhatItHasSeen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := NewSecret()
		v, err := NewVerifier(k)
		if err != nil {
			t.Fatal(err)
		}
		h, body := signed(time.Now().Add(Tolerance), k) // the sender's clock is ahead
		ask := func(what string, h http.Header, want error) {
			t.Helper()
			_, err := v.Verify(h, body)
			wantVerdict(t, what, err, want)
		}
		forged := h.Clone()
		forged.Set(HeaderSignature, "v1,AAAA")
		ask("forged", forged, ErrSignature)
		ask("the first time", h, nil)
		for range 10 {
			ask("again", h, ErrReplayed)
			time.Sleep(time.Minute)
			next, _ := signed(time.Now().Add(time.Second), k)
			ask("the sender's next try", next, nil)
		}
		ask("at the very end", h, ErrReplayed)
		time.Sleep(time.Second)
		ask("after its time", h, ErrTimestamp)
		time.Sleep(time.Hour)
		last, _ := signed(time.Now(), k)
		ask("much later", last, nil)
		if len(v.seen) != 1 {
			t.Errorf("%d requests are still remembered", len(v.seen))
		}
	})
	if _, err := NewVerifier(); err == nil {
		t.Error("a verifier without a key")
	}
	if _, err := NewVerifier(NewSecret(), Secret{}); err == nil {
		t.Error("a verifier with an empty key")
	}
}
