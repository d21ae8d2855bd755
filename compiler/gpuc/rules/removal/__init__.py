"""Removals: elements that are marked as leaving, and those with a reason for leaving at once."""
