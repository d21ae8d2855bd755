"""References between objects by name or key."""
