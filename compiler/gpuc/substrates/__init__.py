"""The places where clusters live.

Each folder is a substrate, with its part of the spec, its nodes, checks and objects.
"""
