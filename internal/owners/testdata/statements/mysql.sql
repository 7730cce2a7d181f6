-- InsertLease
INSERT INTO outbox_leases (name) VALUES (?) ON DUPLICATE KEY UPDATE name = name;

-- lockOrder
SELECT version FROM outbox_leases WHERE name = 'order' FOR UPDATE;

