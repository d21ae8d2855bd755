"""Sets of Kubernetes objects, with indexes, and functions that read pods, node pools, selectors and NetworkPolicies."""
