"""Emitters of the frame: Argo CD, tenants, monitoring, workloads, further charts and README of a cluster."""
