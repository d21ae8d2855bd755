"""User data of Bottlerocket: TOML settings that Karpenter merges with its own."""

from __future__ import annotations

from gpuc.emit.nodes.kubelet import TOPOLOGY_POLICY
from gpuc.emit.nodes.template import render
from gpuc.model import Cluster, Pool


def bottlerocket(cluster: Cluster, pool: Pool) -> str:
    """Returns TOML settings for pools with complete or time-sliced GPUs, and then the settings of the spec.

    Source: bottlerocket-os/bottlerocket-settings-sdk, kubelet-device-plugins and kubernetes models
    """
    if not pool.is_gpu:
        return pool.own_user_data
    replicas = pool.sharing.replicas if pool.sharing and pool.sharing.kind == "timeSlicing" else 0
    return render(
        "bottlerocket.j2",
        replicas=replicas,
        pins_cpus=pool.pins_cpus,
        topology_policy=TOPOLOGY_POLICY,
        own_settings=pool.own_user_data,
    )
