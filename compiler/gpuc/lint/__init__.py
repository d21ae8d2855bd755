"""`gpuc lint`: reads Kubernetes YAML that gpuc did not write, and checks the objects in it."""
