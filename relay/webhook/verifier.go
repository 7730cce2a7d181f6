package webhook

import (
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"
)

// Verifier is Verify with a memory: a request that was overheard and is sent again as it is, is refused with ErrReplayed. It
// remembers, in this process, what it has accepted for as long as the timestamp would do; only who has a key can make
// it remember. A sender's own next try has a timestamp of its own and is accepted, if it comes in another second than the one
// before: timestamps are whole seconds, and within one a next try is the same request to the last byte. It is refused then, and the
// one that follows it is not. So a schedule whose waits are a second at least meets no such refusal.
//
// Who answers a request with an error after it was accepted will get the next try; who can't be sure handles by id, as
// Verify says.
type Verifier struct {
	keys []Secret
	now  func() time.Time

	mu    sync.Mutex // guards what is below
	seen  map[request]time.Time
	swept time.Time
}

// request is what one try can be told by.
type request struct{ id, stamp string }

// NewVerifier makes a Verifier for these keys.
func NewVerifier(keys ...Secret) (*Verifier, error) {
	for _, k := range keys {
		if k.IsZero() {
			return nil, errors.New("new verifier: a key is empty")
		}
	}
	if len(keys) == 0 {
		return nil, errors.New("new verifier: there is no key")
	}
	return &Verifier{keys: keys, now: time.Now, seen: make(map[request]time.Time)}, nil
}

// Verify answers as the function Verify does, or with ErrReplayed.
func (v *Verifier) Verify(h http.Header, body []byte) (id string, err error) {
	now := v.now()
	id, err = verify(h, body, now, v.keys)
	if err != nil {
		return "", err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.sweep(now)
	this := request{id, h.Get(HeaderTimestamp)}
	if _, ok := v.seen[this]; ok {
		return "", fmt.Errorf("verify webhook: %w", ErrReplayed)
	}
	v.seen[this] = now
	return id, nil
}

// sweep forgets what the timestamp alone would refuse by now: one from the future lasts for twice the tolerance.
func (v *Verifier) sweep(now time.Time) {
	if now.Sub(v.swept) < time.Minute {
		return
	}
	v.swept = now
	for r, at := range v.seen {
		if now.Sub(at) > 2*Tolerance+time.Second { // timestamps are whole seconds
			delete(v.seen, r)
		}
	}
}
