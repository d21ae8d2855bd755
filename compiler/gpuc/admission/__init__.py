"""Predicts from the objects of a cluster whether its API server allows the creation of another object."""
