"""Deployment, StatefulSet, ReplicaSet and DaemonSet of Kubernetes."""
