"""Impacts on network paths: between tenants, and to and from the outside."""
