"""Tenants: namespaces, isolation, and dedicated node pools."""
