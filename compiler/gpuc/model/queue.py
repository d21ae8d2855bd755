"""Queues, resolved: shares of pools as vectors of resources, and the ClusterQueues they become."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from gpuc.diagnostics.finding import Path
from gpuc.kubernetes.amounts import Amounts
from gpuc.model.pool import Pool
from gpuc.spec.queues import Cohort as CohortSpec
from gpuc.spec.queues import Queue as QueueSpec


@dataclass(frozen=True)
class Share:
    """What a queue is owed of one pool."""

    pool: Pool
    path: Path
    nominal: Amounts
    """Its own quota."""
    borrow: Amounts | None
    """The most that it may take of others; None is no limit of its own. Zero without a cohort."""
    lend: Amounts | None
    """The most that others may take of it; None is all. Zero without a cohort."""


@dataclass(frozen=True)
class ClusterQueue:
    """One ClusterQueue: a queue's pools with GPUs, or its general pools."""

    name: str
    shares: tuple[Share, ...]

    @property
    def pools(self) -> tuple[Pool, ...]:
        return tuple(share.pool for share in self.shares)

    @cached_property
    def covered_resources(self) -> tuple[str, ...]:
        """The union of what its pools offer, cpu and memory first."""
        return tuple(dict.fromkeys(name for share in self.shares for name in share.nominal))


@dataclass(frozen=True)
class Queue:
    """Who may use how much of which pool."""

    name: str
    path: Path
    spec: QueueSpec
    tenant_names: tuple[str, ...]
    cluster_queues: tuple[ClusterQueue, ...]
    """Over GPU pools under its own name, over general pools with -cpu behind it."""

    @property
    def shares(self) -> tuple[Share, ...]:
        return tuple(share for queue in self.cluster_queues for share in queue.shares)

    @property
    def pools(self) -> tuple[Pool, ...]:
        return tuple(share.pool for share in self.shares)


@dataclass(frozen=True)
class Cohort:
    """Queues that lend to one another."""

    name: str
    path: Path
    spec: CohortSpec
    queues: tuple[Queue, ...]
    """The queues of its whole tree: cohorts of one root lend to one another."""
