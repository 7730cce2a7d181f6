// Package standard holds package webhook to the Go module of Standard Webhooks itself. It is a module of its own, so that
// this dependency is nobody's.
package standard

import (
	"errors"
	"math/rand/v2"
	"net/http"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/sqloutbox/sqloutbox/relay/webhook"
)

func theirs(t *testing.T, secret webhook.Secret) *standardwebhooks.Webhook {
	t.Helper()
	w, err := standardwebhooks.NewWebhook(secret.Reveal())
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func randomBody() []byte {
	body := make([]byte, rand.N(2000))
	for i := range body {
		body[i] = byte(rand.N(256))
	}
	return body
}

func TestTheStandardAcceptsEverySignature(t *testing.T) {
	for range 500 {
		secret, old, private := webhook.NewSecret(), webhook.NewSecret(), webhook.NewPrivateKey()
		body, h := randomBody(), http.Header{}
		webhook.Sign(h, "event.1", time.Now(), body, private, secret, old) // as while keys change
		for _, s := range []webhook.Secret{secret, old} {
			if err := theirs(t, s).Verify(body, h); err != nil {
				t.Fatal(err)
			}
		}
		if err := theirs(t, secret).Verify(append(body, 'x'), h); !errors.Is(err, standardwebhooks.ErrNoMatchingSignature) {
			t.Errorf("a changed body: %v", err)
		}
	}
}

func TestWhatTheStandardSignsIsAccepted(t *testing.T) {
	for range 500 {
		secret, body, now := webhook.NewSecret(), randomBody(), time.Now()
		signature, err := theirs(t, secret).Sign("msg_1", now, body)
		if err != nil {
			t.Fatal(err)
		}
		h := http.Header{}
		webhook.Sign(h, "msg_1", now, body, secret)
		if got := h.Get(webhook.HeaderSignature); got != signature {
			t.Errorf("signed as %s, the standard signs as %s", got, signature)
		}
		h.Set(standardwebhooks.HeaderWebhookSignature, "v1,AAAA "+signature)
		if id, err := webhook.Verify(h, body, secret); err != nil || id != "msg_1" {
			t.Errorf("%q, %v", id, err)
		}
	}
}

// Both give the same verdict on what is old, new or without its headers.
func TestVerdictsAreTheStandards(t *testing.T) {
	secret := webhook.NewSecret()
	for _, off := range []time.Duration{0, -time.Minute, time.Minute, -6 * time.Minute, 6 * time.Minute, -24 * time.Hour} {
		for _, missing := range []string{"", webhook.HeaderID, webhook.HeaderTimestamp, webhook.HeaderSignature} {
			h, body := http.Header{}, []byte("{}")
			webhook.Sign(h, "msg_1", time.Now().Add(off), body, secret)
			h.Del(missing)
			_, ours := webhook.Verify(h, body, secret)
			if err := theirs(t, secret).Verify(body, h); (err == nil) != (ours == nil) {
				t.Errorf("%v, without %q: %v, the standard says %v", off, missing, ours, err)
			}
		}
	}
}
