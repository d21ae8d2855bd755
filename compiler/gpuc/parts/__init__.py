"""Finds what the folders of components, substrates and kinds of workloads contain, and defines the class WorkloadKind.

A kind of workloads, for example, is a WorkloadKind in its own folder. The other packages use all that exist.
"""
