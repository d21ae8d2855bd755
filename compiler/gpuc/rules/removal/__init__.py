"""Removals: elements that are marked as leaving, and elements with a reason for immediate removal."""
