"""Puts files into out/ and clusters/: all or none, and only what changed."""
