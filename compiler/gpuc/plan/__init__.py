"""`gpuc plan` and `gpuc diff`: what a change does to a running cluster."""
