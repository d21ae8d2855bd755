"""Reads files, charts and kustomizations into objects."""
