"""Nodes of a pool: EC2NodeClass and user data."""
