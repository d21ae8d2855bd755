"""User data of nodes, by the family of the node image."""

from __future__ import annotations

from collections.abc import Callable

from gpuc.emit.nodes.al2023 import al2023
from gpuc.emit.nodes.bottlerocket import bottlerocket
from gpuc.emit.nodes.ubuntu import ubuntu
from gpuc.model import Cluster, Pool

_RENDERERS: dict[str, Callable[[Cluster, Pool], str]] = {
    "al2": lambda _, pool: pool.own_user_data,
    "al2023": al2023,
    "bottlerocket": bottlerocket,
    "ubuntu": ubuntu,
}


def user_data(cluster: Cluster, pool: Pool) -> str:
    """Returns the user data of the nodes of a pool, without the user data that Karpenter adds. It may be empty."""
    return _RENDERERS[pool.image.id](cluster, pool)
