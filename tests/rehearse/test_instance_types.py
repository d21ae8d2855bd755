"""What Karpenter believes of simulated nodes is what the model says that they leave to tenants."""

from __future__ import annotations

import pytest

from gpuc.emit import emit
from gpuc.kubernetes.amounts import CPU
from gpuc.kubernetes.quantity import parse_quantity
from gpuc.manifest.manifest import Manifest
from gpuc.model import Pool
from gpuc.model.names import POOL_LABEL
from gpuc.rehearse.instance_types import OVERHEAD_CPU_MILLI, instance_types, reserves

from ..conftest import EXAMPLES, example


def milli(text: str) -> int:
    return int(parse_quantity(text) * 1000)


@pytest.mark.parametrize("name", EXAMPLES)
def test_capacity_less_all_daemonsets_is_what_is_left(name: str) -> None:
    cluster = example(name)
    told = {each["name"]: milli(each["resources"]["cpu"]) for each in instance_types(cluster)}
    reserve = {each["metadata"]["name"]: each["spec"]["template"]["spec"] for each in reserves(cluster)}

    def own(pool: Pool) -> int:
        """What DaemonSets of the cluster's tree ask for on a node of the pool."""
        found = 0
        for each in emit(cluster):
            if isinstance(each, Manifest) and each.kind == "DaemonSet":
                spec = each.body["spec"]["template"]["spec"]
                if spec["nodeSelector"].get(POOL_LABEL) == pool.name:
                    found += max(milli(one["resources"]["requests"]["cpu"]) for one in spec["containers"])
        return found

    for pool in cluster.pools:
        for instance in pool.instances:
            spec = reserve.get(f"node-reserve-{pool.name}-{instance.type.replace('.', '-')}")
            asked = milli(spec["containers"][0]["resources"]["requests"].get("cpu", "0")) if spec else 0
            left = told[instance.type] - OVERHEAD_CPU_MILLI - own(pool) - asked
            assert left == pool.tenant_allocatable(instance)[CPU], (pool.name, instance.type)
