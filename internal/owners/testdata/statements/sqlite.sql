-- InsertLease
INSERT INTO outbox_leases (name) VALUES (?) ON CONFLICT (name) DO NOTHING;

-- lockOrder
SELECT version FROM outbox_leases WHERE name = 'order';

