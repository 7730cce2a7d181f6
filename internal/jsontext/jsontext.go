// Package jsontext writes what stands in the database as JSON: plainly, and no longer than its column. A text that is too
// long must be refused here: where the sql_mode of a MySQL server is lax it would be cut in silence, and be no JSON then.
package jsontext

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/sqloutbox/sqloutbox/internal/invalid"
)

// MaxBlob is what a BLOB of MySQL takes, in bytes; the other engines' columns take more.
const MaxBlob = 1<<16 - 1

// Bounded is Encode; a text of more than most bytes is invalid.ErrOptions.
func Bounded(v any, most int) ([]byte, error) {
	text, err := Encode(v)
	if err == nil && len(text) > most {
		return nil, fmt.Errorf("%w: %d bytes as JSON, at most %d", invalid.ErrOptions, len(text), most)
	}
	return text, err
}

// Encode is v as JSON, without the escapes that HTML would need.
func Encode(v any) ([]byte, error) {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), nil
}
