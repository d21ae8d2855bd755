"""The kinds of workloads: a folder for each family of kinds, with their records and their validation."""
