"""Emitters of the files that belong to no component: Argo CD, tenants, monitoring, workload templates and README."""
