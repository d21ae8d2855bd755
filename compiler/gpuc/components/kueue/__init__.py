"""Kueue: its configuration, and its objects, such as ClusterQueues, ResourceFlavors, Cohorts and Topologies."""
