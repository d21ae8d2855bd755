"""The user data of the spec."""

from __future__ import annotations

from collections.abc import Iterator

from gpuc.diagnostics.finding import Path
from gpuc.model import Cluster, Pool


def pools_with_user_data(cluster: Cluster) -> Iterator[tuple[Path, Pool]]:
    """Yields the pools whose nodes get user data of the spec, each with the path of the text in the spec."""
    for pool in cluster.pools:
        if pool.spec.user_data is not None:
            yield (*pool.path, "userData"), pool
        elif pool.own_user_data:
            yield ("spec", "cloud", "aws", "userData"), pool
