"""The number of nodes of a node pool before and after a change, over all its NodePools."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gpuc.kubernetes.api_groups import KARPENTER
from gpuc.objects.object_set import dig
from gpuc.plan.change import Change, Pair
from gpuc.plan.replacement import pool_name


@dataclass(frozen=True)
class PoolSize:
    """A node pool that is in both states, and whose NodePools have numbers of nodes."""

    name: str
    pairs: tuple[Pair, ...]
    """The NodePools: of the pool, and of its warm nodes. One of them may be added or removed."""
    before: int
    """The number of nodes up to which Karpenter starts nodes."""
    after: int
    running_before: int
    """The number of nodes that always run."""
    running_after: int

    @property
    def is_static(self) -> bool:
        """Whether all nodes always run."""
        return self.running_after == self.after > 0

    def changed(self, *fields: tuple[str, ...]) -> tuple[Pair, tuple[str, ...]]:
        """Returns the NodePool and the first of the fields that differ; an added or removed NodePool as a whole."""
        for pair in self.pairs:
            if pair.is_added or pair.is_removed:
                return pair, ()
            for field in fields:
                if pair.changes(*field):
                    return pair, field
        return self.pairs[0], fields[0]


def pool_sizes(change: Change) -> list[PoolSize]:
    """Returns the node pools of both states whose numbers of nodes are known."""
    by_name: dict[str, list[Pair]] = {}
    for pair in change.pairs(KARPENTER, "NodePool"):
        by_name.setdefault(pool_name(pair), []).append(pair)
    found = []
    for name, pairs in by_name.items():
        if all(pair.is_added for pair in pairs) or all(pair.is_removed for pair in pairs):
            continue
        documents = [
            [pair.before.document() for pair in pairs if pair.before],
            [pair.after.document() for pair in pairs if pair.after],
        ]
        most = [[startable(document) for document in side] for side in documents]
        if not any(None in side for side in most):
            running = [sum(always_running(document) for document in side) for side in documents]
            counts = [sum(count or 0 for count in side) for side in most]
            found.append(PoolSize(name, tuple(pairs), counts[0], counts[1], running[0], running[1]))
    return found


def startable(document: Any) -> int | None:
    """Returns the number of nodes up to which Karpenter starts nodes of a NodePool; None without a number."""
    replicas, limit = dig(document, "spec", "replicas"), _count(dig(document, "spec", "limits", "nodes"))
    if not isinstance(replicas, int):
        return limit
    return replicas if limit is None else min(replicas, limit)


def always_running(document: Any) -> int:
    """Returns the number of nodes of a static NodePool; 0 for another NodePool."""
    replicas = dig(document, "spec", "replicas")
    return replicas if isinstance(replicas, int) else 0


def _count(value: Any) -> int | None:
    return int(value) if isinstance(value, str) and value.isdecimal() else None
