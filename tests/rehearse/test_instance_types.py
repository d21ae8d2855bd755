"""Karpenter's allocatable resources of simulated nodes equal those of the model."""

from __future__ import annotations

import pytest

from gpuc.emit.emitters import emit
from gpuc.kubernetes.amounts import CPU
from gpuc.kubernetes.quantity import parse_quantity
from gpuc.manifest.manifest import Manifest
from gpuc.model import Pool
from gpuc.model.names import POOL_LABEL
from gpuc_rehearsal.node_stages import zones_of
from gpuc_rehearsal.substrates.eks.instance_types import OVERHEAD_CPU_MILLI, instance_types, reserve_daemon_sets

from ..conftest import EXAMPLES, example


def milli(text: str) -> int:
    return int(parse_quantity(text) * 1000)


@pytest.mark.parametrize("name", EXAMPLES)
def test_capacity_without_overhead_and_daemonsets_is_the_allocatable_cpu(name: str) -> None:
    cluster = example(name)
    capacity = {
        offered["name"]: milli(offered["resources"]["cpu"]) for offered in instance_types(cluster, zones_of(cluster))
    }
    reserve = {
        daemon_set["metadata"]["name"]: daemon_set["spec"]["template"]["spec"]
        for daemon_set in reserve_daemon_sets(cluster)
    }

    def own(pool: Pool) -> int:
        """CPU requests of the emitted DaemonSets on a node of the pool."""
        requested = 0
        for emitted in emit(cluster):
            if isinstance(emitted, Manifest) and emitted.kind == "DaemonSet":
                spec = emitted.body["spec"]["template"]["spec"]
                if spec["nodeSelector"].get(POOL_LABEL) == pool.name:
                    containers = spec["containers"]
                    requested += max(milli(container["resources"]["requests"]["cpu"]) for container in containers)
        return requested

    for pool in cluster.pools:
        for instance in pool.instances:
            spec = reserve.get(f"node-reserve-{pool.name}-{instance.type.replace('.', '-')}")
            asked = milli(spec["containers"][0]["resources"]["requests"].get("cpu", "0")) if spec else 0
            left = capacity[instance.type] - OVERHEAD_CPU_MILLI - own(pool) - asked
            assert left == pool.tenant_allocatable(instance)[CPU], (pool.name, instance.type)
