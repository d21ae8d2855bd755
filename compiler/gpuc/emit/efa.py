"""EFA device plugin: that it runs on the nodes with EFA, and on no others."""

from __future__ import annotations

from collections.abc import Iterator

from gpuc.emit.component import Component
from gpuc.manifest.manifest import Artifact, Body, Values
from gpuc.model import Cluster


def efa(cluster: Cluster) -> Iterator[Artifact]:
    """The chart's values.

    Without the plugin a node offers no EFA, Karpenter never counts it as ready, and NCCL falls back to TCP.
    """
    pools = cluster.efa_pools
    taints = {taint for pool in pools for taint in (*pool.taints, *pool.startup_taints)}
    tolerations = sorted((taint.toleration() for taint in taints), key=lambda each: (each["key"], each["value"]))
    # The list replaces the chart's, which names every type that EC2 has, also those of pools without EFA.
    types = sorted({instance.type for pool in pools for instance in pool.instances})
    body: Body = {"supportedInstanceLabels": {"values": types}, "tolerations": tolerations}
    yield Values(cluster.out("efa/values.yaml"), ("spec", "pools"), "efa", body)


COMPONENT = Component(
    name="efa",
    wave=0,
    artifacts=efa,
    is_needed=lambda cluster: bool(cluster.efa_pools),
    kinds=(("apps", "DaemonSet"),),
)
