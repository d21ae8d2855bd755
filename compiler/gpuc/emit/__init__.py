"""Emitters: functions that compute Kubernetes objects, Helm values and texts from the model of a cluster.

This package emits what belongs to no component: Argo CD, tenants, monitoring, workload templates and the README.
"""
