"""Versions that do not go together."""
