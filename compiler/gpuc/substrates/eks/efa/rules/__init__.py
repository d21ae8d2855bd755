"""Rules for EFA and NCCL: node pools with EFA, namespaces that use these node pools, and environment variables."""
