"""Checks that find repeated objects and empty values."""
