package jsontext

import (
	"errors"
	"testing"

	"github.com/sqloutbox/sqloutbox/internal/invalid"
)

func TestATextIsPlainAndBounded(t *testing.T) {
	if text, err := Bounded([]string{"<&>"}, 7); err != nil || string(text) != `["<&>"]` {
		t.Errorf("%s, %v", text, err)
	}
	if text, err := Bounded([]string{"<&>"}, 6); !errors.Is(err, invalid.ErrOptions) {
		t.Errorf("%s, %v", text, err)
	}
}
