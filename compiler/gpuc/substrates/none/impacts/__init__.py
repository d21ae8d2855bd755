"""Impacts on existing nodes."""
