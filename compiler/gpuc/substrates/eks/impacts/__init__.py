"""Impacts: what a change of the spec does to nodes that Karpenter starts."""
