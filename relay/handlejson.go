package relay

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"unicode/utf8"
)

// HandleJSON adds a handler for payloads that are JSON of a T. One that does not decode is a dead letter at once, with the
// decode error: so is one with bytes that are not UTF-8, which encoding/json would replace in silence, and null where T is
// not a pointer, map, slice or interface, which it would take for nothing. Fields that T does not have are ignored.
// Errors: outbox.ErrInvalidOptions.
func HandleJSON[T any](h *Handlers, name string, topics []string, fn func(ctx context.Context, tx *sql.Tx, v T, m Message) error) error {
	return h.Handle(name, topics, JSON(fn))
}

// JSON is a HandlerFunc for payloads that are JSON of a T, for use in a Handler. One that does not decode, as
// HandleJSON has it, is Permanent.
func JSON[T any](fn func(ctx context.Context, tx *sql.Tx, v T, m Message) error) HandlerFunc {
	return func(ctx context.Context, tx *sql.Tx, m Message) error {
		var v T
		if err := decode(m.Payload, &v); err != nil {
			return Permanent(fmt.Errorf("decode the payload as %T: %w", v, err))
		}
		return fn(ctx, tx, v, m)
	}
}

func decode[T any](payload []byte, v *T) error {
	if !utf8.Valid(payload) {
		return errors.New("it is not valid UTF-8")
	}
	if bytes.Equal(bytes.TrimSpace(payload), []byte("null")) {
		switch reflect.TypeFor[T]().Kind() {
		case reflect.Pointer, reflect.Map, reflect.Slice, reflect.Interface:
		default:
			if _, own := any(v).(json.Unmarshaler); !own {
				return errors.New("it is null")
			}
		}
	}
	return json.Unmarshal(payload, v)
}
