"""Checks of fields, values, quantities and metadata of single objects against the schema of their kind."""
