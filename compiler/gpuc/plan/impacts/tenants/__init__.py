"""Impacts on tenants: tenants and namespaces that are added, moved or removed, and their limits."""
