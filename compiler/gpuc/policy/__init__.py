"""Admission policies: the library of gpuc, and the own policies of a fleet."""
