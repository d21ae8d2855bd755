"""Policies: names, settings and stages."""
