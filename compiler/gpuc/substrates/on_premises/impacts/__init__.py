"""Impacts: what a change of the spec does to existing nodes and to volumes on shares."""
