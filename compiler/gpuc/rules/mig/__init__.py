"""Rules for MIG: strategies, partitioning of GPUs, and the limits of slices."""
