"""Checks of fields in which an object names another object, or a key of another object."""
