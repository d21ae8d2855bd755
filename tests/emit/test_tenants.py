"""Tenants: quotas, roles, namespaces and queues."""

from typing import Any

import pytest

from gpuc.emit.tenants import tenants
from gpuc.manifest.manifest import Manifest
from gpuc.model import Cluster
from tests.conftest import Variant, example
from tests.emit.fleet import of_kind

READING = {"get", "list", "watch"}
NEVER_WRITTEN = {
    "resourcequotas", "limitranges", "networkpolicies", "namespaces", "localqueues", "clusterqueues", "workloads",
    "roles", "rolebindings", "clusterroles", "clusterrolebindings", "nodes",
}  # fmt: skip
BEYOND_ADMIN = {"*", "bind", "escalate", "impersonate"}


def objects(cluster: Cluster, kind: str, namespace: str = "") -> list[Manifest]:
    return [found for found in of_kind(tenants(cluster), kind) if namespace in ("", found.namespace)]


def role_of(variant: Variant, role: str) -> list[dict[str, Any]]:
    cluster = variant(lambda spec: spec["tenants"]["search"]["members"].update(role=role))
    (found,) = objects(cluster, "Role", "search-train")
    rules: list[dict[str, Any]] = found.body["rules"]
    return rules


def verbs_on(rules: list[dict[str, Any]], resource: str) -> set[str]:
    return {verb for rule in rules if resource in rule["resources"] for verb in rule["verbs"]}


@pytest.mark.parametrize("role", ["view", "edit", "admin"])
def test_no_role_can_change_its_restrictions(variant: Variant, role: str) -> None:
    rules = role_of(variant, role)
    for rule in rules:
        assert not BEYOND_ADMIN & {*rule["apiGroups"], *rule["resources"], *rule["verbs"]}
        if set(rule["verbs"]) - READING:
            assert not NEVER_WRITTEN & {resource.split("/")[0] for resource in rule["resources"]}
    assert verbs_on(rules, "localqueues") == verbs_on(rules, "workloads") == READING


def test_only_queued_kinds_of_jobs_can_be_created(variant: Variant) -> None:
    cluster = variant(lambda spec: spec["kueue"].update(frameworks=["ray.io/rayjob"]))
    (role,) = objects(cluster, "Role", "search-train")
    assert {"create", "delete"} <= verbs_on(role.body["rules"], "rayjobs")
    for kind in ("jobs", "cronjobs", "jobsets", "trainjobs"):
        assert not verbs_on(role.body["rules"], kind)


def test_huge_pages_are_turned_off_only_where_nodes_have_none(variant: Variant) -> None:
    def change(spec: dict[str, Any]) -> None:
        for pool in ("train-h100", "batch-a100"):
            spec["pools"][pool].setdefault("eks", {})["image"] = {"family": "Ubuntu", "id": "ami-0123456789abcdef0"}

    cluster = variant(change)
    assert not any(pool.hugepages_bytes for pool in cluster.efa_pools)
    assert {manifest.body["data"]["FI_EFA_USE_HUGE_PAGE"] for manifest in objects(cluster, "ConfigMap")} == {"0"}


def test_nothing_in_the_default_environment_is_known_to_be_useless(reference: Cluster) -> None:
    good = {"recommended", "situational"}
    for manifest in objects(reference, "ConfigMap"):
        for name, value in manifest.body["data"].items():
            verdicts = {row.verdict for row in reference.catalog.nccl.verdicts if row.matches(name, value)}
            assert verdicts <= good, name


def part_quotas(namespace: str) -> dict[str, tuple[dict[str, Any], list[dict[str, Any]]]]:
    """Returns the limits and the scopes of the ResourceQuotas of a namespace of the hub, by name."""
    return {
        found.name: (found.body["spec"]["hard"], found.body["spec"].get("scopeSelector", {}).get("matchExpressions"))
        for found in objects(example("vega-prod"), "ResourceQuota", namespace)
    }


def test_a_part_of_a_pool_without_gpus_leaves_the_sum_of_the_other_pools() -> None:
    quotas = part_quotas("api-serving")
    scope = {"scopeName": "PriorityClass", "values": ["gpuc-pool-web"]}
    assert quotas["gpuc-pool-web"] == (
        {"requests.cpu": "21", "requests.memory": "84Gi"},
        [scope | {"operator": "In"}],
    )
    assert quotas["gpuc-other-pools"] == (
        {"requests.cpu": "42", "requests.memory": "342Gi"},
        [scope | {"operator": "NotIn"}],
    )
    assert quotas["gpuc"][0]["requests.cpu"] == "63"


def test_a_namespace_without_a_part_has_no_pods_with_the_priority_class_of_the_pool() -> None:
    quotas = part_quotas("nlp-train")
    assert quotas.keys() == {"gpuc", "gpuc-system-priority"}
    assert quotas["gpuc-system-priority"][1][0]["values"][2:] == ["gpuc-pool-web"]
    assert part_quotas("api-serving")["gpuc-system-priority"][1][0]["values"][2:] == []
    (found,) = objects(example("vega-prod"), "PriorityClass")
    assert (found.name, found.body["value"]) == ("gpuc-pool-web", 0), "the priority of pods without a class"
