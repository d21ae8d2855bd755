"""C25: the README of a cluster has every manual step, and its commands name the resources of the cluster."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from gpuc.emit.argocd import argocd
from gpuc.model import Cluster
from gpuc.substrates.eks.scaling import eks
from tests.conftest import EXAMPLES, example
from tests.emit import fleet

Variant = Callable[[Callable[[dict[str, Any]], object]], Cluster]
each_example = pytest.mark.parametrize("name", EXAMPLES)


def readme(cluster: Cluster) -> str:
    return fleet.readme(argocd(cluster))


@each_example
def test_c25_1_the_groups_of_members_are_connected_with_an_identity_provider(name: str) -> None:
    text = readme(example(name))
    assert "associate-identity-provider-config" in text and "groupsPrefix=oidc:" in text
    assert "--kubernetes-groups" in text
    for tenant in example(name).tenants:
        for group in tenant.groups:
            assert f"| {tenant.name} | {group}" in text


def test_c25_1_a_group_cannot_add_shell_commands(variant: Variant) -> None:
    def rename(spec: dict[str, Any]) -> None:
        for tenant in spec["tenants"].values():
            tenant["members"]["groups"] = ["a';id;'|b:c"]

    cluster = variant(rename)
    text = readme(cluster)
    assert "groupsPrefix=PREFIX'" in text
    assert text.count("';id;'") == len(cluster.tenants), "only in the table of tenants"


@each_example
def test_c25_2_a_command_installs_no_newer_chart_of_argo_cd(name: str) -> None:
    (command,) = (line for line in readme(example(name)).splitlines() if "helm upgrade" in line)
    assert '--version "$CHART_VERSION"' in command


@each_example
def test_c25_5_a_reservation_is_created_inside_the_placement_group(name: str) -> None:
    cluster, text = example(name), readme(example(name))
    inside = [pool for pool in cluster.pools if eks(pool).spec.placement and eks(pool).spec.reservations]
    assert text.count('--placement-group-arn "$PLACEMENT_GROUP"') == len(inside)
    for pool in inside:
        instances = eks(pool).reserved_instances
        assert not instances or f"--instance-count {instances} " in text
    assert ("PlacementGroupArn]" in text) == any(eks(pool).spec.reservations for pool in cluster.pools)


@each_example
def test_c25_6_a_broken_node_is_replaced_without_its_pods(name: str) -> None:
    section = readme(example(name)).partition("## Replace a broken node")[2].partition("## Upgrade")[0]
    assert "delete nodeclaim NODECLAIM" in section and "delete pod -n NAMESPACE POD" in section
    for pool in example(name).gpu_pools:
        assert (pool.name in section.partition("the node waits")[0]) == pool.keeps_runs


@each_example
def test_c25_7_the_page_has_the_order_of_an_upgrade(name: str) -> None:
    section = readme(example(name)).partition("## Upgrade")[2].partition("## Removals")[0]
    order = ["CRDs of Karpenter", "Gatekeeper", "Kueue", "update-cluster-version", "update-addon", "`image`"]
    assert [section.find(word) for word in order] == sorted(section.find(word) for word in order)
    assert -1 not in [section.find(word) for word in order]


def test_c4_a_deleted_pod_keeps_its_gpus_for_its_grace_period() -> None:
    text = " ".join(readme(example("prod-use1")).split())
    assert "in seconds for each tenant: research 1800, search 1800, platform-ml 600." in text
