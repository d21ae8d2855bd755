"""Names and keys by which one object refers to another."""
