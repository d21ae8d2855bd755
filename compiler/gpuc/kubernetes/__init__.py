"""The rules of Kubernetes as pure functions: quantities, selectors, tolerations, quota, NetworkPolicies."""
