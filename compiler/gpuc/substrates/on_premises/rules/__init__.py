"""Rules about clusters of existing nodes."""
