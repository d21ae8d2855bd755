"""Renders objects and Helm values as YAML with cdk8s, in a Node.js process."""
