"""Tenants: quotas, roles, namespaces and queues."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from gpuc.components.kueue.component import kueue
from gpuc.emit.tenants import tenants
from gpuc.kubernetes.quantity import parse_quantity
from gpuc.manifest.manifest import Manifest
from gpuc.model import Cluster
from tests.verify.findings import verify_schemas

Variant = Callable[[Callable[[dict[str, Any]], object]], Cluster]

READING = {"get", "list", "watch"}
NEVER_WRITTEN = {
    "resourcequotas", "limitranges", "networkpolicies", "namespaces", "localqueues", "clusterqueues", "workloads",
    "roles", "rolebindings", "clusterroles", "clusterrolebindings", "nodes",
}  # fmt: skip
BEYOND_ADMIN = {"*", "bind", "escalate", "impersonate"}


def objects(cluster: Cluster, kind: str, namespace: str = "") -> list[Manifest]:
    found = [manifest for manifest in tenants(cluster) if isinstance(manifest, Manifest) and manifest.kind == kind]
    return [manifest for manifest in found if namespace in ("", manifest.namespace)]


def quotas_of(cluster: Cluster, namespace: str = "") -> list[Manifest]:
    """Returns the ResourceQuotas that count the requests of all pods."""
    return [quota for quota in objects(cluster, "ResourceQuota", namespace) if quota.name == "gpuc"]


def role_of(variant: Variant, role: str) -> list[dict[str, Any]]:
    cluster = variant(lambda spec: spec["tenants"]["search"]["members"].update(role=role))
    (found,) = objects(cluster, "Role", "search-train")
    rules: list[dict[str, Any]] = found.body["rules"]
    return rules


def verbs_on(rules: list[dict[str, Any]], resource: str) -> set[str]:
    return {verb for rule in rules if resource in rule["resources"] for verb in rule["verbs"]}


@pytest.mark.parametrize("role", ["view", "edit", "admin"])
def test_everything_fits_the_schemas(variant: Variant, role: str) -> None:
    cluster = variant(lambda spec: spec["tenants"]["search"]["members"].update(role=role))
    emitted = [manifest for manifest in tenants(cluster) if isinstance(manifest, Manifest)]
    assert verify_schemas(emitted, cluster.spec.kubernetes) == []


def test_a_quota_counts_each_extended_resource_of_the_cluster_once(reference: Cluster) -> None:
    advertised = {name for pool in reference.pools for name in pool.advertised_names}
    quotas = quotas_of(reference)
    assert [quota.namespace for quota in quotas] == [space.name for _, space in reference.namespaces]
    for quota in quotas:
        extended = [key for key in quota.body["spec"]["hard"] if "/" in key or "hugepages" in key]
        assert set(extended) - {"count/jobs.batch"} == {f"requests.{name}" for name in advertised}


def test_a_tenant_gets_none_of_what_its_queues_have_no_pool_for(reference: Cluster) -> None:
    quota = quotas_of(reference, "embeddings")[0].body["spec"]["hard"]
    allowed = {key for key, value in quota.items() if key.startswith("requests.") and value != "0"}
    assert allowed == {
        "requests.cpu", "requests.memory", "requests.ephemeral-storage", "requests.nvidia.com/gpu.shared",
    }  # fmt: skip


def test_no_quota_refuses_what_kueue_admits(reference: Cluster) -> None:
    queues = {
        manifest.name: manifest
        for manifest in kueue(reference)
        if isinstance(manifest, Manifest) and manifest.kind == "ClusterQueue"
    }
    for _, namespace in reference.namespaces:
        owed: dict[str, Any] = {}
        for name in namespace.local_queues:
            for flavor in queues[name].body["spec"]["resourceGroups"][0]["flavors"]:
                for resource in flavor["resources"]:
                    nominal = parse_quantity(resource["nominalQuota"])
                    owed[resource["name"]] = owed.get(resource["name"], 0) + nominal
        (quota,) = quotas_of(reference, namespace.name)
        hard = quota.body["spec"]["hard"]
        for name, amount in owed.items():
            assert parse_quantity(hard[f"requests.{name}"]) >= amount
        assert not [key for key in hard if key.startswith("limits.")], "Kueue does not count limits"


def test_c4_a_pool_without_kueue_is_counted_by_the_namespaces_that_use_it(reference: Cluster) -> None:
    hard = {
        namespace: quotas_of(reference, namespace)[0].body["spec"]["hard"]
        for namespace in ("search-serving", "search-train", "embeddings")
    }
    slices = [f"requests.nvidia.com/mig-{profile}" for profile in ("3g.40gb", "2g.20gb", "1g.10gb")]
    assert [hard["search-serving"][name] for name in slices] == ["32", "32", "64"]
    assert [hard["search-train"][name] for name in slices] == ["0", "0", "0"]
    assert hard["embeddings"]["requests.nvidia.com/gpu.shared"] == "96"
    flavors = {manifest.name for manifest in kueue(reference) if getattr(manifest, "kind", "") == "ResourceFlavor"}
    assert not flavors & {"serve-a100", "embed-l40s"}


def test_c26_a_namespace_has_only_the_declared_load_balancers_and_node_ports(reference: Cluster) -> None:
    for quota in quotas_of(reference):
        hard = quota.body["spec"]["hard"]
        expected = "1" if quota.namespace == "search-serving" else "0"
        assert (hard["services.loadbalancers"], hard["services.nodeports"]) == (expected, expected)


def test_quotas_have_tenths_of_cores_and_full_gib(reference: Cluster) -> None:
    for quota in quotas_of(reference):
        hard = quota.body["spec"]["hard"]
        assert parse_quantity(hard["requests.cpu"]) * 10 % 1 == 0, hard
        assert hard["requests.memory"].endswith(("Gi", "Ti")), hard


def test_borrowed_quota_fits_as_well(reference: Cluster) -> None:
    hard = quotas_of(reference, "research-train")[0].body["spec"]["hard"]
    own_and_borrowed = (10 + 6) * 8 + (4 + 4) * 8 + 4  # train-h100, batch-a100, complete GPUs of lab-h100
    assert hard["requests.nvidia.com/gpu"] == str(own_and_borrowed)


def test_pods_without_requests_pass_the_quota_and_no_gpu_is_given_away(reference: Cluster) -> None:
    covered = [
        set(manifest.body["spec"]["resourceGroups"][0]["coveredResources"])
        for manifest in kueue(reference)
        if isinstance(manifest, Manifest) and manifest.kind == "ClusterQueue"
    ]
    limit_ranges = objects(reference, "LimitRange")
    assert {limit_range.namespace for limit_range in limit_ranges} == set(reference.tenant_namespaces)
    for limit_range in limit_ranges:
        (limits,) = limit_range.body["spec"]["limits"]
        hard = quotas_of(reference, limit_range.namespace)[0].body["spec"]["hard"]
        assert {f"requests.{name}" for name in limits["defaultRequest"]} <= set(hard)
        assert set(limits["defaultRequest"]) == {"cpu", "memory", "ephemeral-storage"}
        assert all(set(limits["defaultRequest"]) <= resources for resources in covered)
        assert "default" not in limits, "a default limit would refuse pods that request more than it"


@pytest.mark.parametrize("role", ["view", "edit", "admin"])
def test_no_role_can_change_its_restrictions(variant: Variant, role: str) -> None:
    rules = role_of(variant, role)
    for rule in rules:
        assert not BEYOND_ADMIN & {*rule["apiGroups"], *rule["resources"], *rule["verbs"]}
        if set(rule["verbs"]) - READING:
            assert not NEVER_WRITTEN & {resource.split("/")[0] for resource in rule["resources"]}
    assert verbs_on(rules, "localqueues") == verbs_on(rules, "workloads") == READING


def test_the_role_view_cannot_write_or_exec(variant: Variant) -> None:
    rules = role_of(variant, "view")
    assert {verb for rule in rules for verb in rule["verbs"]} == READING
    assert not verbs_on(rules, "pods/exec") | verbs_on(rules, "secrets")


def test_the_role_edit_runs_work_and_only_admin_manages_accounts(variant: Variant) -> None:
    edit, admin = role_of(variant, "edit"), role_of(variant, "admin")
    for kind in ("jobs", "jobsets", "trainjobs", "pods", "configmaps", "secrets"):
        assert {"create", "delete"} <= verbs_on(edit, kind)
    assert verbs_on(edit, "pods/exec") == {"create", "get"}
    assert verbs_on(edit, "serviceaccounts") == READING
    assert {"create", "delete"} <= verbs_on(admin, "serviceaccounts")


def test_only_queued_kinds_of_jobs_can_be_created(variant: Variant) -> None:
    cluster = variant(lambda spec: spec["kueue"].update(frameworks=["ray.io/rayjob"]))
    (role,) = objects(cluster, "Role", "search-train")
    assert {"create", "delete"} <= verbs_on(role.body["rules"], "rayjobs")
    for kind in ("jobs", "cronjobs", "jobsets", "trainjobs"):
        assert not verbs_on(role.body["rules"], kind)


def test_groups_are_bound_to_the_role_of_their_namespace(reference: Cluster) -> None:
    for tenant, namespace in reference.namespaces:
        (role,) = objects(reference, "Role", namespace.name)
        (binding,) = objects(reference, "RoleBinding", namespace.name)
        assert (binding.body["roleRef"]["kind"], binding.body["roleRef"]["name"]) == ("Role", role.name)
        (members,) = tenant.members
        assert role.name == f"gpuc-{members.spec.role}"
        assert [subject["name"] for subject in binding.body["subjects"]] == members.spec.groups


def test_namespaces_carry_who_they_belong_to_and_a_pinned_security_level(reference: Cluster) -> None:
    for tenant, namespace in reference.namespaces:
        (found,) = (manifest for manifest in objects(reference, "Namespace") if manifest.name == namespace.name)
        assert found.labels["gpuc.dev/tenant"] == tenant.name
        assert found.labels["gpuc.dev/cost-centre"] == tenant.spec.cost_centre
        assert found.labels["gpuc.dev/environment"] == "prod"
        for mode in ("enforce", "audit", "warn"):
            assert found.labels[f"pod-security.kubernetes.io/{mode}"] == namespace.spec.pod_security
            assert found.labels[f"pod-security.kubernetes.io/{mode}-version"] == "v1.35"


def test_local_queues_reach_every_cluster_queue_of_the_tenant(reference: Cluster) -> None:
    for _, namespace in reference.namespaces:
        found = objects(reference, "LocalQueue", namespace.name)
        assert [manifest.name for manifest in found] == list(namespace.local_queues)
        assert [manifest.body["spec"]["clusterQueue"] for manifest in found] == list(namespace.local_queues)


def test_a_namespace_comes_first_and_its_queues_last(reference: Cluster) -> None:
    for tenant in reference.tenants:
        file = [
            manifest
            for manifest in tenants(reference)
            if isinstance(manifest, Manifest) and manifest.file.endswith(f"/{tenant.name}.yaml")
        ]
        waves = {manifest.kind: int(manifest.annotations["argocd.argoproj.io/sync-wave"]) for manifest in file}
        others = set(waves) - {"Namespace", "LocalQueue"}
        assert waves["Namespace"] < min(waves[kind] for kind in others)
        assert waves.get("LocalQueue", 99) > max(waves[kind] for kind in others)
        assert file[0].kind == "Namespace"


def test_objects_that_restrict_a_tenant_are_not_pruned(reference: Cluster, variant: Variant) -> None:
    def protected(cluster: Cluster) -> set[str]:
        emitted = [manifest for manifest in tenants(cluster) if isinstance(manifest, Manifest)]
        return {manifest.kind for manifest in emitted if "argocd.argoproj.io/sync-options" in manifest.annotations}

    assert protected(reference) == {"Namespace", "ResourceQuota", "NetworkPolicy"}
    assert not protected(variant(lambda spec: spec["delivery"].update(prune="automatic")))


def test_nccl_environment_is_in_the_namespaces_that_name_it(reference: Cluster) -> None:
    found = {manifest.namespace: manifest for manifest in objects(reference, "ConfigMap")}
    assert set(found) == {"research-train", "search-train"}
    assert found["research-train"].name == "nccl-efa-large"
    assert found["research-train"].body["data"] == {
        "NCCL_DEBUG": "WARN", "NCCL_SOCKET_IFNAME": "eth0", "NCCL_CROSS_NIC": "1",
    }  # fmt: skip


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
