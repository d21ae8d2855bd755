"""Whether pods of tenants get from their queue to a node: Kueue, the scheduler and Karpenter on objects.

`walk` takes some work through every step. `findings` finds queues and flavors through which no pod can go.
"""

from __future__ import annotations

from gpuc.trace.cluster_index import ClusterIndex
from gpuc.trace.steps import Stage, Step, TraceResult
from gpuc.trace.walk import trace_work
from gpuc.trace.work import PodSet, Work, work_of

__all__ = ["ClusterIndex", "PodSet", "Stage", "Step", "TraceResult", "Work", "trace_work", "work_of"]
