"""Delivery: how the output reaches the cluster."""
