"""Checks that find objects that are emitted twice, and nulls, empty maps and empty lists that have no meaning."""
