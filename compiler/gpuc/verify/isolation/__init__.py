"""The check that tenants are isolated."""
