"""Kueue: its configuration, queues, flavors, cohorts, topologies and priorities."""
