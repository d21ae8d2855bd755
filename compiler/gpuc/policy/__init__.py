"""Admission policies: the policies of the library of gpuc, and the policies of a fleet."""
