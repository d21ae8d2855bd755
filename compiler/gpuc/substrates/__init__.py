"""The places where clusters live. Each folder is a substrate: its part of the spec, nodes, checks and objects."""
