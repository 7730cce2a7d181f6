package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/sqloutbox/sqloutbox/outbox"
)

// readFeed is a reader of orders that handles so many and ends, as if it was stopped. Its cursor is in the database: it goes on
// where it was.
func (s *shop) readFeed(ctx context.Context, most int) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	feed := s.box.Feed()
	at, err := feed.Position(ctx, "billing")
	if errors.Is(err, outbox.ErrUnknownCursor) { // it has never run
		if at, err = feed.Oldest(ctx); err == nil {
			err = feed.Register(ctx, "billing", at, 24*time.Hour)
		}
	}
	if err != nil {
		return "", err
	}
	var got []string
	for e, err := range feed.Follow(ctx, at, "orders.*") {
		if err != nil {
			return "", err
		}
		got = append(got, string(e.Event.Payload)) // what it does with an order
		if err := feed.Advance(ctx, "billing", at, e.Cursor); err != nil {
			return "", err
		}
		if at = e.Cursor; len(got) == most || string(e.Event.Payload) == fmt.Sprintf(`{"order":%d}`, s.sold) {
			break
		}
	}
	return strings.Join(got, " "), nil
}
