"""Sets of Kubernetes objects, with indexes, and functions that read pods, selectors and network policies in objects."""
