"""Sets of Kubernetes objects, with lookups and readers for pods, node pools, selectors and NetworkPolicies."""
