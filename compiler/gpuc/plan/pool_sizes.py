"""The numbers of nodes of node pools before and after a change."""

from collections.abc import Sequence

from msgspec import Struct

from gpuc.diagnostics.finding import Path
from gpuc.model import Cluster, Pool
from gpuc.objects.object_set import grouped
from gpuc.plan.change import Change, PoolPair
from gpuc.plan.impact import Prediction, Raised


class PoolSize(Struct, frozen=True):
    """The numbers of nodes of a node pool that exists before and after the change."""

    name: str
    pairs: tuple[PoolPair, ...]
    """The NodePools for the pool and for its warm nodes. The change may add or remove one of them."""
    before: int
    """The number of nodes up to which nodes start."""
    after: int
    running_before: int
    """The number of nodes that always run."""
    running_after: int
    """The number of nodes that should always run. A smaller limit deletes none of them, and lets no more start."""

    @property
    def is_static(self) -> bool:
        """Whether the number of nodes is fixed after the change, so that all nodes always run."""
        return self.running_after >= self.after > 0

    def raised(
        self, message: str, *fields: Path, details: tuple[str, ...] = (), predicts: tuple[Prediction, ...] = ()
    ) -> Raised:
        """Returns an impact at the first of `fields` that differs, or at a NodePool that is added or removed."""
        pair, path = self._changed(fields)
        return Raised(f"node pool {self.name}", message, pair.manifest, path, details, predicts)

    def _changed(self, fields: Sequence[Path]) -> tuple[PoolPair, Path]:
        for pair in self.pairs:
            if pair.is_added or pair.is_removed:
                return pair, ()
            for field in fields:
                if pair.changes(*field):
                    return pair, field
        return self.pairs[0], fields[0]


def pool_sizes(change: Change) -> list[PoolSize]:
    """Returns the node pools that exist before and after the change and whose numbers of nodes are known."""
    found = []
    for name, pairs in grouped(change.pools, lambda pair: pair.element).items():
        sides = [[pair.old for pair in pairs if pair.old], [pair.new for pair in pairs if pair.new]]
        most = [[pool.startable for pool in side] for side in sides]
        if all(sides) and not any(None in side for side in most):
            counts = [sum(count or 0 for count in side) for side in most]
            running = [sum(pool.replicas or 0 for pool in side) for side in sides]
            found.append(PoolSize(name, tuple(pairs), counts[0], counts[1], min(running[0], counts[0]), running[1]))
    return found


def pool_of(cluster: Cluster | None, name: str) -> Pool | None:
    """Returns the node pool called `name` from the model; None if the model is None or lacks the node pool."""
    return next((pool for pool in cluster.pools if pool.name == name), None) if cluster else None


def nodes_text(count: int | None) -> str:
    """Returns the maximum number of nodes in words: "up to 4 nodes". For 0: "the nodes that still run"."""
    if count is None:
        return "all nodes"
    return f"up to {count} {'node' if count == 1 else 'nodes'}" if count else "the nodes that still run"


def nodes_of(pairs: Sequence[PoolPair]) -> int | None:
    """Returns how many nodes the NodePools can have together before the change; None if one has no maximum."""
    counts = [pair.old.most_nodes for pair in pairs if pair.old]
    return None if None in counts else sum(count or 0 for count in counts)
