"""Pools, queues, Applications and namespaces of a cluster as values, read once from objects or from the spec."""
