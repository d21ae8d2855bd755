"""The kind JobSet, a group of Jobs."""
