"""Whether pods of tenants get from their queue to a node: Kueue, the scheduler and Karpenter on objects.

`walk` takes some work through every step. `flaws` finds queues and flavors through which no pod can go.
"""

from __future__ import annotations

from gpuc.trace.cluster_index import Site
from gpuc.trace.steps import Stage, Step, Walk
from gpuc.trace.walk import walk
from gpuc.trace.work import PodSet, Work, work_of

__all__ = ["PodSet", "Site", "Stage", "Step", "Walk", "Work", "walk", "work_of"]
