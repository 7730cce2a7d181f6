package engines

import (
	"io"
	"slices"
	"strings"
	"testing"
)

func TestNamesAreThoseOfENGINESInTheirFixedOrder(t *testing.T) {
	for _, c := range []struct {
		env  string
		want []string
	}{
		{"", []string{"sqlite", "postgres", "mysql", "mariadb"}},
		{" , ", []string{"sqlite", "postgres", "mysql", "mariadb"}},
		{"postgres", []string{"postgres"}},
		{"mariadb,sqlite", []string{"sqlite", "mariadb"}},
		{"mysql  postgres", []string{"postgres", "mysql"}},
		{"mysql,mysql", []string{"mysql"}},
		{"oracle,sqlite", []string{"sqlite", "oracle"}},
	} {
		t.Setenv("ENGINES", c.env)
		if got := Names(); !slices.Equal(got, c.want) {
			t.Errorf("ENGINES=%q: got %v, want %v", c.env, got, c.want)
		}
	}
}

func TestAnUnknownNameInENGINESIsAnError(t *testing.T) {
	t.Setenv("ENGINES", "postgre")
	for _, name := range Names() {
		_, err := Up(t.Context(), name, io.Discard)
		if err == nil || !strings.Contains(err.Error(), `unknown engine "postgre"`) {
			t.Errorf("got %v, want an error that names it", err)
		}
	}
	if err := Down(t.Context()); err == nil {
		t.Error("Down: got no error")
	}
}
