"""The output before it is written: Kubernetes objects, Helm values, and the files that contain them."""
