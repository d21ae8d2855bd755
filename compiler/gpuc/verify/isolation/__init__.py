"""The check that the output isolates tenants from each other."""
