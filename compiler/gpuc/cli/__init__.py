"""The command line: words to one call each, results to text and an exit code."""
