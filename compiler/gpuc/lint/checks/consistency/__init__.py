"""Checks of single objects, and of fields of an object that must fit each other."""
