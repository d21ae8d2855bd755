"""The arithmetic and matching of Kubernetes over small values: pure functions, no objects and no specs."""
