"""Impacts on admission: policies, Pod Security, and the workloads that they would refuse."""
