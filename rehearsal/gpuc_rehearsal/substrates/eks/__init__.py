"""Clusters on EKS in a rehearsal."""
