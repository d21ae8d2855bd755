"""Checks of ClusterQueues, flavors and node pools that no pod can use."""
