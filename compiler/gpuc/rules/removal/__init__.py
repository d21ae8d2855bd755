"""Rules for removals: pools, queues and tenants that are marked as leaving, and names in `removed`."""
