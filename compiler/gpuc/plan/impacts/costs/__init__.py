"""Impacts on costs: node pools at their maximum, tenants at their quota, and missing prices."""
