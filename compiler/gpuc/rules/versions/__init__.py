"""Incompatible versions."""
