"""The nodes that always run, which start before the test cases, and their topology labels."""

from __future__ import annotations

import time
from collections import Counter
from itertools import count

from gpuc.model import Cluster, Pool
from gpuc.model.names import POOL_LABEL
from gpuc.rehearse.client import POLL_SECONDS, Client, Object
from gpuc.rehearse.context import NODE

BLOCK_NODES = 8
"""Assumed number of nodes per block. EC2 reports the network topology only for running instances."""


def place_static_nodes(client: Client, cluster: Cluster, timeout_s: float) -> dict[str, str]:
    """Waits for the nodes that always run, and labels the nodes of static pools with their block.

    The labels are those of the cloud controller manager.

    Returns an error message by pool name for every pool with too few nodes after the timeout.
    """
    deadline = time.monotonic() + timeout_s
    incomplete = {}
    for pool in (pool for pool in cluster.pools if pool.always_running):
        nodes = _wait_for_nodes(client, pool, deadline)
        if len(nodes) < pool.always_running:
            incomplete[pool.name] = f"{len(nodes)} of {pool.always_running} nodes after {timeout_s:.0f} s"
        if "block" in (pool.spec.topology or ()):
            _label_blocks(client, pool, nodes)
    return incomplete


def _wait_for_nodes(client: Client, pool: Pool, deadline: float) -> list[Object]:
    selector = f"{POOL_LABEL}={pool.name},karpenter.sh/initialized=true"
    while len(nodes := client.list_all(*NODE, labels=selector)) < pool.always_running and time.monotonic() < deadline:
        time.sleep(POLL_SECONDS)
    return sorted(nodes, key=lambda node: str(node["metadata"]["name"]))


def _label_blocks(client: Client, pool: Pool, nodes: list[Object]) -> None:
    """Labels the nodes without a block. Each block has BLOCK_NODES nodes."""
    label = pool.level_labels["block"]
    sizes = Counter(node["metadata"]["labels"].get(label) for node in nodes)
    for node in nodes:
        if label not in node["metadata"]["labels"]:
            names = (f"{pool.name}-{index}" for index in count())
            block = next(name for name in names if sizes[name] < BLOCK_NODES)
            sizes[block] += 1
            client.patch(*NODE, node["metadata"]["name"], {"metadata": {"labels": {label: block}}})
