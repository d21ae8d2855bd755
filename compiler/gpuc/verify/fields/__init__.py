"""Checks the fields, values, quantities and metadata of every object against the schema of its kind."""
