package webhook

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
)

// Keys that Svix's documentation shows as examples.
const (
	examplePrivate = "whsk_6Xb/dCcHpPea21PS1N9VY/NZW723CEc77N4rJCubMbfVKIDij2HKpMKkioLlX0dRqSKJp4AJ6p9lMicMFs6Kvg=="
	examplePublic  = "whpk_1SiA4o9hyqTCpIqC5V9HUakiiaeACeqfZTInDBbOir4="
)

func mustParse(t testing.TB, text string) Secret {
	t.Helper()
	s, err := ParseSecret(text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestASecretShowsItselfToNobody(t *testing.T) {
	for _, s := range []Secret{NewSecret(), NewPrivateKey(), NewPrivateKey().Public(), {}} {
		var log bytes.Buffer
		holder := struct {
			Secret  Secret
			Pointer *Secret
			List    []Secret
		}{s, &s, []Secret{s}}
		slog.New(slog.NewTextHandler(&log, nil)).Info("x", "secret", s, "holder", holder)
		slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "secret", s, "holder", holder)
		text, err := json.Marshal(holder)
		if err != nil {
			t.Fatal(err)
		}
		log.Write(text)
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
			fmt.Fprintf(&log, verb+" "+verb+"\n", s, holder)
		}
		shown := log.String()
		if !strings.Contains(shown, redacted) {
			t.Errorf("nothing says that it is left out: %s", shown)
		}
		if s.IsZero() {
			continue
		}
		raw := s.key.bytes
		for _, form := range []string{s.Reveal(), s.Reveal()[6:], string(raw), fmt.Sprintf("%x", raw), fmt.Sprint(raw), fmt.Sprintf("%#v", raw)} {
			if strings.Contains(shown, strings.Trim(form, "[]")) {
				t.Errorf("the log shows the secret as %q", form)
			}
		}
	}
}

func TestSecretsAreReadAsTheyAreWritten(t *testing.T) {
	for _, s := range []Secret{NewSecret(), NewPrivateKey(), NewPrivateKey().Public(), mustParse(t, examplePrivate)} {
		if got := mustParse(t, s.Reveal()).Reveal(); got != s.Reveal() {
			t.Errorf("%s became %s", s.Reveal(), got)
		}
	}
	private := mustParse(t, examplePrivate)
	if got := private.Public().Reveal(); got != examplePublic {
		t.Errorf("public key %s, want %s", got, examplePublic)
	}
	seed := mustParse(t, "whsk_6Xb/dCcHpPea21PS1N9VY/NZW723CEc77N4rJCubMbc=")
	if seed.Reveal() != examplePrivate {
		t.Error("a seed is not the key it stands for")
	}
	if (Secret{}).Reveal() != "" || !(Secret{}).IsZero() || NewSecret().IsZero() {
		t.Error("the zero secret is not none")
	}
	if s := NewSecret(); s.Public() != s {
		t.Error("what verifies a symmetric signature is the secret itself")
	}
}

func TestWhatIsNoSecretIsRefusedWithoutBeingShown(t *testing.T) {
	other := mustParse(t, NewPrivateKey().Reveal())
	mixed := Secret{&key{prefixPrivate, append(bytes.Clone(other.key.bytes[:32]), mustParse(t, examplePublic).key.bytes...)}}
	for _, bad := range []string{
		"", "whsec_", "whsec_c2hvcnRzZWNyZXQ=", "whsec_" + strings.Repeat("QUJD", 22), "whsec_not*base64", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaS",
		"whpk_6Xb/dCcHpPea21PS1N9VY/NZW723CEc77N4rJCubMbfVKIDij2HKpMKkioLlX0dRqSKJp4AJ6p9lMicMFs6Kvg==", "whsk_QUJD", "whpk_QUJD",
		mixed.Reveal(),
	} {
		s, err := ParseSecret(bad)
		if !errors.Is(err, ErrSecret) || !s.IsZero() {
			t.Errorf("%q: %v", bad, err)
		} else if rest := strings.TrimPrefix(bad, "whsec_"); len(rest) > 5 && strings.Contains(err.Error(), rest) {
			t.Errorf("the error shows it: %v", err)
		}
	}
}
