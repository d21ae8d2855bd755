"""The output in memory: Kubernetes objects, Helm values and output files."""
