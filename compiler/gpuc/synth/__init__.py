"""Prints objects and values as YAML through cdk8s, in a Node process."""
