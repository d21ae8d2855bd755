"""Traces a workload from its queue to its nodes: evaluates Kubernetes objects, without a running cluster.

A trace evaluates the objects as Kueue, the scheduler and Karpenter do. The module `tracer` runs all checks. Other
modules contain single checks, such as admission_steps and kueue_steps. The result of each check is a Step.
"""

from gpuc.trace.cluster_index import ClusterIndex
from gpuc.trace.steps import Stage, Step, TraceResult
from gpuc.trace.tracer import trace_workload
from gpuc.trace.workload import PodSet, Workload, workload_of

__all__ = ["ClusterIndex", "PodSet", "Stage", "Step", "TraceResult", "Workload", "trace_workload", "workload_of"]
