"""Checks for repeated objects and for empty values."""
