"""Checks objects against the schemas and CEL rules of imported CustomResourceDefinitions."""
