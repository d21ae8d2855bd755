"""Loads Kubernetes objects, Helm values and Kustomizations from files."""
