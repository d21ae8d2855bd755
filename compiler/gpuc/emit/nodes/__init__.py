"""Nodes of a pool: EC2NodeClass and user data."""

from gpuc.emit.nodes.node_class import node_class

__all__ = ["node_class"]
