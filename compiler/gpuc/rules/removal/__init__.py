"""Rules for removals: elements of the spec with `leaving: true`, and names of elements in `removed`."""
