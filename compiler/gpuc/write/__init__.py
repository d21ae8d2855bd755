"""Writes the changed files of out/ and clusters/ in one transaction, and finds files that are out of date."""
