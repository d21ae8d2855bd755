"""Compares the run time and memory of gpuc and other tools for the same objects: `python -m benchmarks`."""
