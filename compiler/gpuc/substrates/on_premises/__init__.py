"""Nodes that exist already, without a cloud and without an autoscaler."""
