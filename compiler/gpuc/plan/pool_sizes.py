"""The number of nodes of a node pool before and after a change, over all its NodePools."""

from __future__ import annotations

from dataclasses import dataclass

from gpuc.diagnostics.finding import Path
from gpuc.plan.change import Change, PoolPair


@dataclass(frozen=True)
class PoolSize:
    """A node pool that is in both states, and whose NodePools have numbers of nodes."""

    name: str
    pairs: tuple[PoolPair, ...]
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

    def changed(self, *fields: Path) -> tuple[PoolPair, Path]:
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
    by_name: dict[str, list[PoolPair]] = {}
    for pair in change.pools:
        by_name.setdefault(pair.pool, []).append(pair)
    found = []
    for name, pairs in by_name.items():
        sides = [[pair.old for pair in pairs if pair.old], [pair.new for pair in pairs if pair.new]]
        most = [[pool.startable for pool in side] for side in sides]
        if all(sides) and not any(None in side for side in most):
            counts = [sum(count or 0 for count in side) for side in most]
            running = [sum(pool.replicas or 0 for pool in side) for side in sides]
            found.append(PoolSize(name, tuple(pairs), counts[0], counts[1], running[0], running[1]))
    return found
