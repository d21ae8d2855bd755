"""Karpenter: its configuration, NodePools, EC2NodeClasses, and the user data of the nodes."""
