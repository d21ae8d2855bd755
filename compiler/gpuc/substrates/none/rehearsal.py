"""The nodes of a rehearsal: they exist from the start, as in the cluster."""

from __future__ import annotations

from collections.abc import Iterator

from gpuc.kubernetes.node_pool import HOSTNAME, INSTANCE_TYPE
from gpuc.manifest.manifest import Body
from gpuc.model import Cluster
from gpuc.model.names import SERVER_LABEL
from gpuc.rehearse.client import new_object
from gpuc.rehearse.plane.kwok import FAKE_NODE
from gpuc.substrates.none.section import machines


def nodes(cluster: Cluster) -> Iterator[Body]:
    """Yields the nodes of all pools, with the labels and taints that node feature discovery gives them.

    Test cases compare the types of nodes, so the nodes also have the type of their server as instance type.
    """
    fake, _, value = FAKE_NODE.partition("=")
    for pool in cluster.pools:
        server = pool.instances[0]
        platform = {"kubernetes.io/os": "linux", "kubernetes.io/arch": server.arch, INSTANCE_TYPE: server.type}
        taints = [{"key": taint.key, "value": taint.value, "effect": taint.effect} for taint in pool.taints]
        for name in machines(pool.spec).names:
            labels = {**pool.labels, **platform, SERVER_LABEL: server.type, HOSTNAME: name}
            metadata = {"labels": labels, "annotations": {fake: value}}
            yield new_object("v1", "Node", name, metadata=metadata, spec={"taints": taints})
