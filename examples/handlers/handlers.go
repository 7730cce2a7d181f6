package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/sqloutbox/sqloutbox/outbox"
	"github.com/sqloutbox/sqloutbox/relay"
)

// order is what events carry; their key is the order's id, so that each order's events keep their order.
type order struct {
	Item     string `json:"item"`
	Quantity int    `json:"quantity"`
}

func (s *shop) addHandlers(h *relay.Handlers) error {
	return errors.Join(
		relay.HandleJSON(h, "stock", []string{"orders.placed"}, s.takeStock),
		relay.HandleJSON(h, "invoice", []string{"orders.reserved"}, s.writeInvoice),
		h.HandleNoTx("mail", []string{"invoices.*"}, s.sendMail))
}

// takeStock takes what was ordered out of stock. What can't be served is refused: no retry will bring more chairs.
func (s *shop) takeStock(ctx context.Context, tx *sql.Tx, o order, m relay.Message) error {
	res, err := tx.ExecContext(ctx, s.bind("UPDATE handlers_stock SET left_over = left_over - ? WHERE item = ? AND left_over >= ?"), o.Quantity, o.Item, o.Quantity)
	if err != nil {
		return err
	}
	if n, err := res.RowsAffected(); err != nil || n == 0 {
		return errors.Join(err, relay.Reject(fmt.Errorf("not enough in stock: %s", o.Item)))
	}
	return s.cause(ctx, tx, m, "orders.reserved")
}

// writeInvoice fails at its first attempt for one order, after it has written: nothing of that stays.
func (s *shop) writeInvoice(ctx context.Context, tx *sql.Tx, o order, m relay.Message) error {
	if _, err := tx.ExecContext(ctx, s.bind("INSERT INTO handlers_invoices (order_id, pieces) VALUES (?, ?)"), m.Key, o.Quantity); err != nil {
		return err
	}
	if m.Key == "order-3" && m.Attempt == 1 {
		return errors.New("the printer is out of paper")
	}
	return s.cause(ctx, tx, m, "invoices.written")
}

// sendMail talks to the outside. A mail server that is given the event's id can drop what it has seen.
func (s *shop) sendMail(_ context.Context, m relay.Message) error {
	s.say("mail for %s: your invoice (correlation %s)", m.Key, m.Headers[relay.CorrelationHeader])
	return nil
}

// cause writes the next event of an order in the handler's transaction.
func (s *shop) cause(ctx context.Context, tx *sql.Tx, m relay.Message, topic string) error {
	_, err := s.box.Write(ctx, tx, relay.Caused(m, outbox.Event{Topic: topic, Key: m.Key, Payload: m.Payload}))
	return err
}

// place is the business change that all begins with.
func (s *shop) place(ctx context.Context, id string, o order) error {
	payload, err := json.Marshal(o)
	if err != nil {
		return err
	}
	return s.box.InTx(ctx, func(ctx context.Context, tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, s.bind("INSERT INTO handlers_orders (id, item, quantity) VALUES (?, ?, ?)"), id, o.Item, o.Quantity); err != nil {
			return err
		}
		_, err := s.box.Write(ctx, tx, outbox.Event{ID: id, Topic: "orders.placed", Key: id, Payload: payload})
		return err
	})
}
