"""Impacts on queues: quotas, borrowing, flavors, priorities, and the configuration of Kueue."""
