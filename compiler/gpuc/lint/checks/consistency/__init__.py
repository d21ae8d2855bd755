"""Checks of single objects and of the fields that belong together."""
