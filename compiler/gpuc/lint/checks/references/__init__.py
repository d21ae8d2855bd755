"""Checks of references between objects: names of missing objects, and objects to which no object refers."""
