"""Predicts the decision of the API server about the creation of an object, from the objects of a cluster."""
