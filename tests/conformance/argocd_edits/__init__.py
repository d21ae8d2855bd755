"""Edits of the example clusters with the real Argo CD: commits, manual edits, removals and refused commits."""
