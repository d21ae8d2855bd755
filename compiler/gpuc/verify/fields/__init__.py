"""Checks of the fields, values, quantities and metadata of every object against the schema of the object's kind."""
