"""Trees with references that hold, and the same trees with one of them broken."""
