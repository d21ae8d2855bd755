"""Rules for tenants: namespaces, isolation, and dedicated node pools."""
