"""Checks of all constraints of Gatekeeper together."""
