"""Reads YAML documents in the same way as Kubernetes, and finds the line and column of each value."""
