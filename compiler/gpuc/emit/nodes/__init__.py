"""How a node of a pool is made: its EC2NodeClass and the user data that it boots with."""

from gpuc.emit.nodes.node_class import node_class

__all__ = ["node_class"]
