"""Impacts on the rights of people and pods."""
