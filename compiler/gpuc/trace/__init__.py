"""Trace a workload from its queue to its nodes: evaluate Kueue, the scheduler and Karpenter on Kubernetes objects.

`tracer` runs all steps. Each step is in a module of its own: policies, local_queue, flavors, limits, nodes and so on.
"""

from __future__ import annotations

from gpuc.trace.cluster_index import ClusterIndex
from gpuc.trace.steps import Stage, Step, TraceResult
from gpuc.trace.tracer import trace_workload
from gpuc.trace.workload import PodSet, Workload, workload_of

__all__ = ["ClusterIndex", "PodSet", "Stage", "Step", "TraceResult", "Workload", "trace_workload", "workload_of"]
