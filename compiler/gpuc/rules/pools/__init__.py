"""Rules for node pools on every substrate."""
