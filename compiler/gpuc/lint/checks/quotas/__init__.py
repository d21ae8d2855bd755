"""Checks of quotas: nominal quotas, borrowing, the capacity of nodes, and ResourceQuotas of namespaces."""
