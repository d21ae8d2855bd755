"""Modules about kinds of workloads in a rehearsal. A module has the name of the family's folder."""
