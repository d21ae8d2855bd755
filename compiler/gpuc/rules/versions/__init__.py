"""Rules for incompatible versions of Kubernetes, components, AMIs and drivers, and for versions without schemas."""
