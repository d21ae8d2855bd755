"""The component JobSet, a controller for groups of Jobs."""
