"""Checks objects against CustomResourceDefinitions that a user imports."""
