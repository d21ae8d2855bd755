"""Checks of the values of the pinned Helm charts."""
