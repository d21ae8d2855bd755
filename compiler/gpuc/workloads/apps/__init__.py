"""Deployments, StatefulSets, ReplicaSets and DaemonSets."""
