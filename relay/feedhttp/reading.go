package feedhttp

import (
	"context"
	"errors"
	"fmt"

	"github.com/sqloutbox/sqloutbox/outbox"
)

// ask runs fn, which reads the database, when there is a place for it, until ReadTimeout.
func (h *Handler) ask(ctx context.Context, fn func(ctx context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, h.opts.ReadTimeout)
	defer cancel()
	select {
	case h.reads <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-h.reads }()
	err := fn(ctx)
	if err != nil && ctx.Err() != nil {
		err = fmt.Errorf("%w: %w", ctx.Err(), err) // some drivers say only that they were interrupted
	}
	return err
}

func (h *Handler) read(ctx context.Context, at outbox.Cursor, limit int, topics []string) (events []outbox.FeedEvent, next outbox.Cursor, err error) {
	err = h.ask(ctx, func(ctx context.Context) (err error) {
		events, next, err = h.feed.Read(ctx, at, limit, topics...)
		return err
	})
	return events, next, err
}

// first reads the first page of a request, and answers the position that it begins behind.
func (h *Handler) first(ctx context.Context, q query) (events []outbox.FeedEvent, at, next outbox.Cursor, err error) {
	for range 5 { // purge may overtake oldest
		if at, err = h.begin(ctx, q); err != nil {
			return nil, at, at, err
		}
		events, next, err = h.read(ctx, at, q.limit, q.topics)
		if q.from != oldest || !errors.Is(err, outbox.ErrGone) {
			break
		}
	}
	at.Epoch = next.Epoch // which the zero Cursor has not
	return events, at, next, err
}

func (h *Handler) begin(ctx context.Context, q query) (at outbox.Cursor, err error) {
	find := h.feed.Head
	switch q.from {
	case "":
		return q.at, nil
	case oldest:
		find = h.feed.Oldest
	}
	err = h.ask(ctx, func(ctx context.Context) (err error) {
		at, err = find(ctx)
		return err
	})
	return at, err
}
