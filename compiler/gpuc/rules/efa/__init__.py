"""EFA and NCCL: pools on the fabric, the namespaces that use it, and the environment."""
