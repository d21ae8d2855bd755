"""User data of nodes, by image."""

from __future__ import annotations

from collections.abc import Callable

from gpuc.emit.nodes.al2023 import al2023
from gpuc.emit.nodes.bottlerocket import bottlerocket
from gpuc.emit.nodes.ubuntu import ubuntu
from gpuc.model import Cluster, Pool

_BY_IMAGE: dict[str, Callable[[Cluster, Pool], str]] = {
    "al2023": al2023,
    "bottlerocket": bottlerocket,
    "ubuntu": ubuntu,
}


def user_data(cluster: Cluster, pool: Pool) -> str:
    """Return the user data of the nodes of a pool, without the part that Karpenter adds. It may be empty."""
    write = _BY_IMAGE.get(pool.image.id)
    return write(cluster, pool) if write else ""
