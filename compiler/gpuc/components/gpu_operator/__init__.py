"""NVIDIA GPU Operator: its configuration, the ClusterPolicy, and DaemonSets that remove the startup taint of nodes."""
