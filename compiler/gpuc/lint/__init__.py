"""`gpuc lint`: the judges over trees of Kubernetes YAML that gpuc did not write."""
