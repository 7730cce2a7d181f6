package webhook

import (
	"net/http"
	"strings"
	"testing"
	"time"
)

// Whatever a stranger sends: no panic, and accepted only if it is what the key signs for just this.
func FuzzVerify(f *testing.F) {
	secret, private := mustParse(f, vectorSecret), mustParse(f, examplePrivate)
	f.Add(vectorID, "1614265330", vectorSignature, []byte(vectorBody), int64(0))
	f.Add("a", "1", "v1,", []byte(nil), int64(1))
	f.Add("a.1", "1614265330", "v1a,AAAA v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=", []byte("."), int64(-400))
	f.Add("", "", "", []byte("x"), int64(400))
	f.Fuzz(func(t *testing.T, id, stamp, signature string, body []byte, off int64) {
		now := vectorTime.Add(time.Duration(off))
		h := http.Header{HeaderID: {id}, HeaderTimestamp: {stamp}, HeaderSignature: {signature}}
		got, err := verify(h, body, now, []Secret{secret, private.Public()})
		if err != nil {
			if got != "" {
				t.Errorf("%q beside %v", got, err)
			}
			return
		}
		var right []string
		for _, k := range []Secret{secret, private} {
			version, mac := k.sign(content(id, stamp, body))
			right = append(right, version+","+encode(mac))
		}
		if got != id || !strings.Contains(" "+signature+" ", " "+right[0]+" ") && !strings.Contains(" "+signature+" ", " "+right[1]+" ") {
			t.Errorf("accepted %q %q %q", id, stamp, signature)
		}
	})
}

// What is signed is accepted, whatever the event's id and body.
func FuzzSignThenVerify(f *testing.F) {
	secret, private := mustParse(f, vectorSecret), mustParse(f, examplePrivate)
	f.Add(vectorID, []byte(vectorBody), byte(1))
	f.Add("a.b\r\n", []byte{0, 255}, byte(7))
	f.Fuzz(func(t *testing.T, id string, body []byte, flip byte) {
		h := http.Header{}
		Sign(h, id, vectorTime, body, secret, private)
		if id == "" {
			return
		}
		for _, k := range []Secret{secret, private.Public()} {
			if got, err := verify(h, body, vectorTime, []Secret{k}); err != nil || got != ID(id) {
				t.Fatalf("%q: %v", got, err)
			}
		}
		if len(body) == 0 || flip == 0 {
			return
		}
		body[int(flip)%len(body)] ^= flip
		if _, err := verify(h, body, vectorTime, []Secret{secret, private.Public()}); err == nil {
			t.Error("a changed body is accepted")
		}
	})
}

// Two ids never become one.
func FuzzIDs(f *testing.F) {
	f.Add("a.b", "a%2Eb")
	f.Fuzz(func(t *testing.T, a, b string) {
		if (ID(a) == ID(b)) != (a == b) {
			t.Errorf("%q and %q are %q and %q", a, b, ID(a), ID(b))
		}
		if strings.ContainsAny(ID(a), ". \r\n\x00") {
			t.Errorf("%q", ID(a))
		}
	})
}
