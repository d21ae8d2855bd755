"""Checks of `gpuc lint` about objects of Karpenter's provider for AWS."""
