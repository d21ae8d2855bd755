"""Deployments and the other kinds of replicas of Kubernetes."""
