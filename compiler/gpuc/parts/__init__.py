"""Finds what the folders of components, substrates and kinds of workloads contain, and defines the class WorkloadKind.

For example, each kind of workloads is a WorkloadKind in the folder of its project. Other packages read all of them.
"""
