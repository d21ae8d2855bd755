"""Rules for further charts: their names, namespaces and kinds."""
