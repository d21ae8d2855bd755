"""Impacts of versions: charts, Kubernetes, and the version of gpuc."""
