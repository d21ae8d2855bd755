"""Tenants: namespaces, isolation, and dedicated pools."""
