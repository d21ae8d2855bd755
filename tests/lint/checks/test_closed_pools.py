"""A pool that may start no node is closed on purpose: judges are silent about what follows, and about nothing else."""

from __future__ import annotations

from copy import deepcopy
from functools import cache
from typing import Any

import pytest

from gpuc.emit import emit
from gpuc.lint.checks import object_consistency as inside
from gpuc.lint.checks import quotas
from gpuc.lint.checks.quotas import closed
from gpuc.lint.checks.scheduling import unreachable_queues as scheduling
from gpuc.manifest.manifest import Manifest
from gpuc.model import resolve
from gpuc.objects.object_finding import ObjectFinding
from gpuc.objects.object_set import ObjectSet
from gpuc.source import read
from gpuc.spec.cluster import ClusterSpec
from gpuc.trace.closed_flavors import closed_flavors
from tests.conftest import ROOT, example


@cache
def leaving(cluster: str, pool: str) -> tuple[Manifest, ...]:
    """The objects of an example cluster of which a pool leaves."""
    tree = deepcopy(read(ROOT, f"specs/{cluster}.yaml").tree)
    tree["spec"]["pools"][pool]["leaving"] = True
    changed = resolve(ClusterSpec.model_validate(tree), f"specs/{cluster}.yaml", example(cluster).catalog)
    return tuple(artifact for artifact in emit(changed) if isinstance(artifact, Manifest))


def judged(manifests: list[Manifest] | tuple[Manifest, ...], *, is_complete: bool = True) -> list[ObjectFinding]:
    tree = ObjectSet(manifests, is_complete=is_complete)
    return [finding for judge in (inside, quotas, scheduling) for finding in judge.findings(tree)]


def with_limits(kind: str, name: str, limits: dict[str, Any], manifests: tuple[Manifest, ...]) -> list[Manifest]:
    """The objects, the limits of one of them replaced."""
    found = deepcopy(list(manifests))
    for manifest in found:
        if (manifest.kind, manifest.name) == (kind, name):
            manifest.body["spec"]["limits"] = limits
    return found


@pytest.mark.parametrize("is_complete", [True, False])
@pytest.mark.parametrize(
    ("cluster", "pool"), [("prod-use1", "dev-l4"), ("prod-use1", "general"), ("train-usw2", "core-h200")]
)
def test_a_pool_that_leaves_is_no_fault(cluster: str, pool: str, is_complete: bool) -> None:
    manifests = leaving(cluster, pool)
    assert closed_flavors(ObjectSet(manifests, is_complete=is_complete)) == {pool}
    assert judged(manifests, is_complete=is_complete) == []


def test_without_the_limit_the_same_quotas_are_faults() -> None:
    opened = with_limits("NodePool", "general", {"nodes": "10"}, leaving("prod-use1", "general"))
    assert not closed_flavors(ObjectSet(opened, is_complete=True))
    assert {finding.rule.id for finding in judged(opened)} == {"SCD001", "QTA011", "QTA014"}


@pytest.mark.parametrize(("cluster", "pool"), [("prod-use1", "train-h100"), ("train-usw2", "core-h200")])
def test_a_closed_pool_with_quota_promises_what_no_node_backs(cluster: str, pool: str) -> None:
    manifests = tuple(artifact for artifact in emit(example(cluster)) if isinstance(artifact, Manifest))
    closed = with_limits("NodePool", pool, {"nodes": "0"}, manifests)
    assert "KRP004" in {finding.rule.id for finding in judged(closed)}


def test_a_second_pool_keeps_a_flavor_open() -> None:
    manifests = deepcopy(list(leaving("prod-use1", "dev-l4")))
    other = next(manifest for manifest in manifests if (manifest.kind, manifest.name) == ("NodePool", "embed-l40s"))
    other.body["spec"]["template"]["metadata"]["labels"]["gpuc.dev/pool"] = "dev-l4"
    assert closed_flavors(ObjectSet(manifests, is_complete=True)) == frozenset()


def test_fewer_nodes_than_replicas_are_a_fault_and_none_are_not() -> None:
    manifests = leaving("train-usw2", "core-h200")
    few = judged(with_limits("NodePool", "core-h200", {"nodes": "3"}, manifests))
    assert "OBJ007" in {finding.rule.id for finding in few}


def test_a_static_pool_without_nodes_whose_flavor_has_quota_is_a_fault() -> None:
    broken = with_limits("NodePool", "core-h200", {"nodes": "0"}, tuple(whole("train-usw2")))
    assert [finding.path for finding in closed.findings(ObjectSet(broken, is_complete=True))] == [
        ("spec", "limits", "nodes")
    ]
    assert list(closed.findings(ObjectSet(leaving("train-usw2", "core-h200"), is_complete=True))) == []


def whole(cluster: str) -> list[Manifest]:
    return [artifact for artifact in emit(example(cluster)) if isinstance(artifact, Manifest)]
