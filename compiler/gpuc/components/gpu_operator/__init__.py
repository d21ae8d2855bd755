"""NVIDIA GPU Operator: its configuration, the ClusterPolicy, and the GPU gate."""
