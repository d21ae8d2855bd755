"""Checks objects against the schemas and CEL rules of CustomResourceDefinitions that users import."""
