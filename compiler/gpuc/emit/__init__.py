"""Emitters of the output that belongs to no component: Argo CD, tenants, monitoring, workload templates, README."""
