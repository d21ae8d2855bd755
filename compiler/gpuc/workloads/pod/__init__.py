"""The kind Pod."""
