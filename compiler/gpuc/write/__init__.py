"""Writes the changed files of out/ and clusters/, either all or none, and finds files that are out of date."""
