"""Whether pods of tenants get from their queue to a node: Kueue, the scheduler and Karpenter on objects.

`walk` takes some work through every step. `flaws` finds queues and flavors through which no pod can go.
"""

from __future__ import annotations

from compiler.verify.scheduling.judge import flaws
from compiler.verify.scheduling.site import Site
from compiler.verify.scheduling.steps import Stage, Step, Walk
from compiler.verify.scheduling.walk import walk
from compiler.verify.scheduling.work import PodSet, Work, work_of

__all__ = ["PodSet", "Site", "Stage", "Step", "Walk", "Work", "flaws", "walk", "work_of"]
