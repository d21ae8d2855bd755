"""YAML documents: their values as Kubernetes reads them, and the line and column of each value."""
