"""Karpenter's allocatable resources of simulated nodes equal those of the model."""

import pytest

from gpuc.emit.emitters import emit
from gpuc.kubernetes.amounts import CPU
from gpuc.kubernetes.quantity import parse_quantity
from gpuc.manifest.manifest import Manifest
from gpuc.model import Pool
from gpuc.model.names import POOL_LABEL
from gpuc_rehearsal.plane.kwok import zones_of
from gpuc_rehearsal.substrates.eks.instance_types import OVERHEAD_CPU_MILLI, instance_types, reserve_daemon_sets

from ..conftest import EXAMPLES, example


def milli(text: str) -> int:
    return int(parse_quantity(text) * 1000)


@pytest.mark.parametrize("name", EXAMPLES)
def test_capacity_without_overhead_and_daemonsets_is_the_allocatable_cpu(name: str) -> None:
    cluster = example(name)
    offered = instance_types(cluster, zones_of(cluster))
    capacity = {row["name"]: milli(row["resources"]["cpu"]) for row in offered}
    reserve = {row["metadata"]["name"]: row["spec"]["template"]["spec"] for row in reserve_daemon_sets(cluster)}

    def own(pool: Pool) -> int:
        """CPU requests of the emitted DaemonSets on a node of the pool."""
        emitted = (row for row in emit(cluster) if isinstance(row, Manifest) and row.kind == "DaemonSet")
        specs = (row.body["spec"]["template"]["spec"] for row in emitted)
        containers = (spec["containers"] for spec in specs if spec["nodeSelector"].get(POOL_LABEL) == pool.name)
        return sum(max(milli(row["resources"]["requests"]["cpu"]) for row in rows) for rows in containers)

    for pool in cluster.pools:
        for instance in pool.instances:
            spec = reserve.get(f"node-reserve-{pool.name}-{instance.type.replace('.', '-')}")
            asked = milli(spec["containers"][0]["resources"]["requests"].get("cpu", "0")) if spec else 0
            left = capacity[instance.type] - OVERHEAD_CPU_MILLI - own(pool) - asked
            assert left == pool.tenant_allocatable(instance)[CPU], (pool.name, instance.type)
