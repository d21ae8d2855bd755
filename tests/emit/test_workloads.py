"""Workload templates: a quota counts them, they fit on a node, and they pass Pod Security."""

from fractions import Fraction
from typing import Any

import pytest

from gpuc.emit.workloads import workloads
from gpuc.kubernetes.amounts import CPU
from gpuc.kubernetes.quantity import parse_quantity
from gpuc.manifest.manifest import Manifest
from gpuc.model import Pool
from gpuc.model.names import EFA, HUGEPAGES
from tests.conftest import EXAMPLES, Variant, example
from tests.emit import fleet


def templates(*kinds: str) -> list[Any]:
    found = [
        (name, manifest)
        for name in EXAMPLES
        for manifest in fleet.manifests(name, "workloads")
        if manifest.kind in kinds
    ]
    return [pytest.param(name, manifest, id=f"{name}-{manifest.name}") for name, manifest in found]


each_template = pytest.mark.parametrize(("name", "job"), templates("Job", "Deployment"))


def pool_of(name: str, job: Manifest) -> Pool:
    stem = job.file.rsplit("/", 1)[1].removesuffix(".yaml")
    return next(pool for pool in example(name).pools if pool.name == stem)


def pod_of(job: Manifest) -> dict[str, Any]:
    return dict(job.body["spec"]["template"]["spec"])


def requests_of(job: Manifest) -> dict[str, Fraction]:
    (container,) = pod_of(job)["containers"]
    assert container["resources"]["requests"] == container["resources"]["limits"]
    return {
        resource: parse_quantity(text) * (1000 if resource == CPU else 1)
        for resource, text in container["resources"]["requests"].items()
    }


@each_template
def test_a_full_set_of_slices_fits_the_node(name: str, job: Manifest) -> None:
    pool = pool_of(name, job)
    wanted = requests_of(job)
    pieces = [resource for resource in pool.gpu_resource_names if resource in wanted]
    for resource in pieces:
        times = pool.node[resource] // int(wanted[resource])
        assert times >= 1
        assert all(
            amount * times <= pool.node[resource]
            for resource, amount in wanted.items()
            if resource not in (EFA, HUGEPAGES)
        )


def test_c17_the_user_of_mps_clients_is_that_of_the_spec(variant: Variant) -> None:
    cluster = variant(lambda spec: spec["pools"]["embed-l40s"]["sharing"]["mps"].update(user=4711))
    (deployment,) = (row for row in fleet.of_kind(workloads(cluster), "Deployment") if row.name == "embed-l40s")
    assert pod_of(deployment)["securityContext"]["runAsUser"] == 4711
