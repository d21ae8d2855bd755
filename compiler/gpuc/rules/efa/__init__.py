"""EFA and NCCL: pools with EFA, the namespaces that use them, and environment variables."""
