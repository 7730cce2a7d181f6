package sqlcdb

import "context"

const createOrder = `-- name: CreateOrder :exec
INSERT INTO orms_orders (id) VALUES (?)
`

// CreateOrder inserts an order.
func (q *Queries) CreateOrder(ctx context.Context, id string) error {
	_, err := q.db.ExecContext(ctx, createOrder, id)
	return err
}
