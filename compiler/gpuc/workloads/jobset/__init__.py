"""JobSets."""
