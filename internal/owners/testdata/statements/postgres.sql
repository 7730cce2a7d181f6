-- InsertLease
INSERT INTO outbox_leases (name) VALUES ($1) ON CONFLICT (name) DO NOTHING;

-- lockOrder
SELECT version FROM outbox_leases WHERE name = 'order' FOR UPDATE;

