"""Objects with correct references, and the same objects with one wrong reference."""
