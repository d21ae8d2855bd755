"""`gpuc tools`: builds the programs of `gpuc rehearse`, and of tests of gpuc, from source.

The subfolders of programs/ contain a go.mod and a go.sum for each program, which pin its version.
"""
