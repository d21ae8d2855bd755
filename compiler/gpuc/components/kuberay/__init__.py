"""The component KubeRay, the operator of Ray."""
