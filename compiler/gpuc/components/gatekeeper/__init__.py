"""Gatekeeper: its configuration, and the policies."""
