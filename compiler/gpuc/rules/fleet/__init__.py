"""What two specs of a fleet must not have in common."""
