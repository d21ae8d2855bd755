"""The record types of gpuc's extension points, and their registries.

Each kind of workload, for example, has one record; the programs of gpuc read all records.
"""
