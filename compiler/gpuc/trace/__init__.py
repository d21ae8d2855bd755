"""Traces a workload from its queue to its nodes, with Kubernetes objects and without a cluster.

A trace evaluates the objects as Kueue, the scheduler and Karpenter do. The module `tracer` runs all steps. Other
modules contain single steps, such as policies, local_queue and limits.
"""

from gpuc.trace.cluster_index import ClusterIndex
from gpuc.trace.steps import Stage, Step, TraceResult
from gpuc.trace.tracer import trace_workload
from gpuc.trace.workload import PodSet, Workload, workload_of

__all__ = ["ClusterIndex", "PodSet", "Stage", "Step", "TraceResult", "Workload", "trace_workload", "workload_of"]
