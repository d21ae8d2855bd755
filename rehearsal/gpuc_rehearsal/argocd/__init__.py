"""Runs the real Argo CD, which applies the fleet from a Git repository to the control planes of a rehearsal."""
