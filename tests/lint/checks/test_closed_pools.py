"""A pool with a limit of 0 nodes is closed on purpose: its consequences are not reported, but other mistakes are."""

from copy import deepcopy
from functools import cache
from typing import Any

import pytest

from gpuc.cluster.flavors import FlavorCapacity
from gpuc.emit.emitters import emit
from gpuc.lint.checks.quotas.flavor_quotas import closed_pools
from gpuc.manifest.manifest import Manifest
from gpuc.model import resolve
from gpuc.objects.object_finding import ObjectFinding
from gpuc.objects.object_set import ObjectSet
from gpuc.source import read
from gpuc.spec.cluster import ClusterSpec
from tests.conftest import ROOT, example
from tests.lint.checks.topics import findings_of as of_topic


@cache
def leaving(cluster: str, pool: str) -> tuple[Manifest, ...]:
    """The objects of an example cluster with one leaving pool."""
    tree = deepcopy(read(ROOT, f"specs/{cluster}.yaml").tree)
    tree["spec"]["pools"][pool]["leaving"] = True
    changed = resolve(ClusterSpec.model_validate(tree), f"specs/{cluster}.yaml", example(cluster).catalog)
    return tuple(artifact for artifact in emit(changed) if isinstance(artifact, Manifest))


def findings_of(manifests: list[Manifest] | tuple[Manifest, ...], *, is_complete: bool = True) -> list[ObjectFinding]:
    tree = ObjectSet(manifests, is_complete=is_complete)
    return [finding for topic in ("consistency", "quotas", "scheduling") for finding in of_topic(topic, tree)]


def with_limits(kind: str, name: str, limits: dict[str, Any], manifests: tuple[Manifest, ...]) -> list[Manifest]:
    """The objects, with other limits for one object."""
    found = deepcopy(list(manifests))
    for manifest in found:
        if (manifest.kind, manifest.name) == (kind, name):
            manifest.body["spec"]["limits"] = limits
    return found


@pytest.mark.share(3)
@pytest.mark.parametrize("is_complete", [True, False])
@pytest.mark.parametrize(
    ("cluster", "pool"), [("prod-use1", "dev-l4"), ("prod-use1", "general"), ("train-usw2", "core-h200")]
)
def test_no_finding_for_a_leaving_pool(cluster: str, pool: str, is_complete: bool) -> None:
    manifests = leaving(cluster, pool)
    assert FlavorCapacity(ObjectSet(manifests, is_complete=is_complete)).closed == {pool}
    assert findings_of(manifests, is_complete=is_complete) == []


def test_the_same_quotas_are_reported_for_an_open_pool() -> None:
    opened = with_limits("NodePool", "general", {"nodes": "10"}, leaving("prod-use1", "general"))
    assert not FlavorCapacity(ObjectSet(opened, is_complete=True)).closed
    assert {finding.rule.id for finding in findings_of(opened)} == {"SCD001", "QTA011", "QTA014"}


@pytest.mark.share(2)
@pytest.mark.parametrize(("cluster", "pool"), [("prod-use1", "train-h100"), ("train-usw2", "core-h200")])
def test_quota_for_a_closed_pool_is_reported(cluster: str, pool: str) -> None:
    manifests = tuple(artifact for artifact in emit(example(cluster)) if isinstance(artifact, Manifest))
    closed = with_limits("NodePool", pool, {"nodes": "0"}, manifests)
    assert "KRP004" in {finding.rule.id for finding in findings_of(closed)}


def test_a_second_pool_keeps_a_flavor_open() -> None:
    manifests = deepcopy(list(leaving("prod-use1", "dev-l4")))
    other = next(manifest for manifest in manifests if (manifest.kind, manifest.name) == ("NodePool", "embed-l40s"))
    other.body["spec"]["template"]["metadata"]["labels"]["gpuc.dev/pool"] = "dev-l4"
    assert FlavorCapacity(ObjectSet(manifests, is_complete=True)).closed == frozenset()


def test_a_limit_below_the_replicas_is_reported() -> None:
    manifests = leaving("train-usw2", "core-h200")
    few = findings_of(with_limits("NodePool", "core-h200", {"nodes": "3"}, manifests))
    assert "OBJ007" in {finding.rule.id for finding in few}


def test_a_static_pool_without_nodes_whose_flavor_has_quota_is_reported() -> None:
    broken = with_limits("NodePool", "core-h200", {"nodes": "0"}, tuple(objects_of("train-usw2")))
    assert [finding.path for finding in closed_pools(ObjectSet(broken, is_complete=True))] == [
        ("spec", "limits", "nodes")
    ]
    assert list(closed_pools(ObjectSet(leaving("train-usw2", "core-h200"), is_complete=True))) == []


def objects_of(cluster: str) -> list[Manifest]:
    return [artifact for artifact in emit(example(cluster)) if isinstance(artifact, Manifest)]
