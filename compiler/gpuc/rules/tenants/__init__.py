"""Tenants: namespaces, and pools of their own."""
