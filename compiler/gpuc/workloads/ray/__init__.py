"""The kinds of KubeRay."""
