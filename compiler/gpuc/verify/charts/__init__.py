"""Checks of the Helm values of the pinned charts."""
