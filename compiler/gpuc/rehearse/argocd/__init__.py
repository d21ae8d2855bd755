"""Runs the real Argo CD against the control planes of a rehearsal, with the fleet in a Git repository."""
