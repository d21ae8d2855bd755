"""Gatekeeper, which enforces admission policies: its configuration, and the objects for the policies."""
