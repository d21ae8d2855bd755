"""Checks of references from objects to other objects, by name or by key."""
