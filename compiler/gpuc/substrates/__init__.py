"""Substrates: the kinds of places where a cluster can live, for example EKS, or machines that exist already.

Each folder is one substrate. The folder contains the sections of the spec, the nodes, the rules and the output that
only clusters of this substrate have.
"""
