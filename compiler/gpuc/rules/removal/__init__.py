"""Removals: elements that are marked as leaving, and elements in `removed`."""
