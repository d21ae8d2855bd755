"""What gpuc costs beside its peers over the same objects: `python -m benchmarks`."""
