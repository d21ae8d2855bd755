"""Findings: what can be wrong, where it is, who accepts it, and how it is reported."""
