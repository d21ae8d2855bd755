"""Builds the programs for `gpuc rehearse`, and for tests of gpuc, from source.

The subfolders of programs/ have a go.mod and a go.sum for each program, which pin its version.
"""
