"""Deletions of pods and of workloads that leave GPUs without quota."""

from typing import Any

import pytest

from gpuc.components.gatekeeper.component import gatekeeper
from gpuc.emit.pod_deletion import GPU_QUOTA, NAME, OWNED, WORKLOADS_NAME, pod_deletion
from gpuc.emit.roles import ADMIN, EDIT, VIEW
from gpuc.manifest.manifest import Body, Manifest
from gpuc.model import Cluster
from tests.conftest import EXAMPLES, Variant, example
from tests.policies.kubernetes_cel import Failed, Object, Value, answer

POLICY, BINDING = "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"
LIMITS = {"research": 1800, "platform-ml": 600}
"""The limits of two tenants of prod-use1: a checkpoint interval, and the minimum."""


def objects(cluster: Cluster, name: str = NAME) -> dict[str, Manifest]:
    origins = dict.fromkeys((GPU_QUOTA, OWNED), ("spec", "policies"))
    return {manifest.kind: manifest for manifest in pod_deletion(cluster, origins, 5) if manifest.name == name}


def spec_of(cluster: Cluster, name: str = NAME) -> Body:
    spec: Body = objects(cluster, name)[POLICY].body["spec"]
    return spec


def refusal(name: str, tenant: str, options: Object, before: Object, kind: str = "Pod", *groups: str) -> str:
    """Returns the message with which a policy of prod-use1 refuses a deletion; empty if it allows the deletion."""
    spec = spec_of(example("prod-use1"), name)
    known: dict[str, Any] = {}
    request = {"operation": "DELETE", "options": options, "kind": {"kind": kind}, "userInfo": {"groups": list(groups)}}
    data = {
        "object": None,
        "oldObject": before,
        "request": request,
        "namespaceObject": {"metadata": {"labels": {"gpuc.dev/tenant": tenant}}},
        "variables": known,
    }
    for row in spec["variables"]:
        value = answer(row["expression"], data)
        assert isinstance(value, Value), value
        known[row["name"]] = value.value
    for validation in spec["validations"]:
        verdict = answer(validation["expression"], data)
        assert not isinstance(verdict, Failed), verdict
        if not verdict.value:
            message = answer(validation.get("messageExpression", '""'), data)
            assert isinstance(message, Value)
            return validation.get("message") or message.value
    return ""


def is_allowed(tenant: str, requested: int | None, of_pod: int | None = 30) -> bool:
    """Returns the decision of the policy of prod-use1 about the deletion of a pod."""
    options = {} if requested is None else {"gracePeriodSeconds": requested}
    pod = {} if of_pod is None else {"terminationGracePeriodSeconds": of_pod}
    message = refusal(NAME, tenant, options, {"spec": pod})
    assert not message or f"at most {LIMITS[tenant]} seconds" in message
    return not message


@pytest.mark.parametrize(("tenant", "limit"), LIMITS.items())
def test_c4_a_deleted_pod_keeps_its_gpus_no_longer_than_the_limit_of_its_tenant(tenant: str, limit: int) -> None:
    assert is_allowed(tenant, limit)
    assert not is_allowed(tenant, limit + 1)
    assert not is_allowed(tenant, 31_536_000)


def test_c4_a_deletion_without_a_grace_period_and_of_a_pod_without_a_node_are_allowed() -> None:
    assert is_allowed("research", None)
    assert is_allowed("research", None, None)
    assert is_allowed("research", 0)
    assert is_allowed("research", -1)


def test_c4_a_member_does_not_force_the_deletion_of_a_running_pod() -> None:
    """The kubelet ends the containers after the grace period of the pod, but every quota is free at once."""
    at_once: Object = {"gracePeriodSeconds": 0}
    pod: Object = {"spec": {"nodeName": "node", "terminationGracePeriodSeconds": 30}, "status": {"phase": "Running"}}
    for group in ("oidc:research", "system:serviceaccounts:research-lab"):
        assert "kubectl delete --now" in refusal(NAME, "research", at_once, pod, "Pod", group)
        assert refusal(NAME, "research", {"gracePeriodSeconds": 1}, pod, "Pod", group) == ""
        for phase in ("Succeeded", "Failed"):
            assert refusal(NAME, "research", at_once, pod | {"status": {"phase": phase}}, "Pod", group) == ""
    for group in ("system:nodes", "system:serviceaccounts:kube-system", "oidc:search"):
        assert refusal(NAME, "research", at_once, pod, "Pod", group) == ""
    assert refusal(NAME, "research", at_once, pod | {"spec": {"nodeName": ""}}, "Pod", "oidc:research") == ""
    assert is_allowed("research", 0, 0)


@pytest.mark.parametrize(
    ("kind", "options", "is_refused"),
    [
        ("Job", {"propagationPolicy": "Orphan"}, True),
        ("Job", {}, True),  # the default of the API server
        ("Job", {"propagationPolicy": "Background"}, False),
        ("Job", {"propagationPolicy": "Foreground"}, False),
        ("Job", {"orphanDependents": True}, True),
        ("Job", {"orphanDependents": False}, False),
        ("JobSet", {}, False),
        ("JobSet", {"orphanDependents": True}, True),
        ("StatefulSet", {"propagationPolicy": "Orphan"}, True),
    ],
)
def test_c4_a_workload_is_deleted_with_its_pods(kind: str, options: Object, is_refused: bool) -> None:
    conditions = [{"type": "Complete", "status": "True"}]
    for status, expected in (({}, is_refused), ({"conditions": conditions}, False)):
        metadata = {"labels": {"kueue.x-k8s.io/queue-name": "research"}}
        workload = {"metadata": metadata, "spec": {}, "status": status}
        message = refusal(WORKLOADS_NAME, "research", options, workload, kind)
        assert ("set propagationPolicy to Background" in message) == expected


def test_c4_the_pods_of_a_stateful_set_without_a_queue_may_stay() -> None:
    orphan: Object = {"propagationPolicy": "Orphan"}
    for metadata in ({}, {"labels": {"app": "x"}}):
        assert refusal(WORKLOADS_NAME, "research", orphan, {"metadata": metadata}, "StatefulSet") == ""
        assert refusal(WORKLOADS_NAME, "research", orphan, {"metadata": metadata}, "Job")


def test_c4_the_policy_about_workloads_applies_to_all_kinds_whose_pods_kueue_counts_together() -> None:
    rules = spec_of(example("prod-use1"), WORKLOADS_NAME)["matchConstraints"]["resourceRules"]
    resources = {f"{resource}.{rule['apiGroups'][0]}" for rule in rules for resource in rule["resources"]}
    assert {"jobs.batch", "jobsets.jobset.x-k8s.io", "statefulsets.apps", "rayclusters.ray.io"} <= resources
    assert not {"pods.", "deployments.apps"} & resources
    assert {tuple(rule["operations"]) for rule in rules} == {("DELETE",)}


def test_c4_a_pod_can_be_deleted_with_its_own_grace_period() -> None:
    # The API server writes the period of the pod into a request without a period.
    assert is_allowed("research", 7200, 7200)
    assert not is_allowed("research", 7201, 7200)
    assert not is_allowed("research", 1801, None)


@pytest.mark.parametrize("name", EXAMPLES)
def test_c4_the_policy_applies_to_pods_of_all_tenants_and_to_no_other_request(name: str) -> None:
    cluster = example(name)
    constraints = spec_of(cluster)["matchConstraints"]
    assert constraints["resourceRules"] == [
        {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["DELETE"], "resources": ["pods"]}
    ]
    (expression,) = constraints["namespaceSelector"]["matchExpressions"]
    tenants = [tenant.name for tenant in cluster.tenants]
    assert expression == {"key": "gpuc.dev/tenant", "operator": "In", "values": tenants}
    assert [artifact.kind for artifact in gatekeeper(cluster) if getattr(artifact, "name", "") == NAME] == [
        POLICY,
        BINDING,
    ]


@pytest.mark.parametrize(("stage", "action"), [("deny", "Deny"), ("warn", "Warn"), ("dryrun", "Audit")])
def test_c4_the_policy_has_the_stage_of_gpu_quota(variant: Variant, stage: str, action: str) -> None:
    cluster = variant(lambda spec: spec["policies"].update({"gpu-quota": {"stage": stage}}))
    binding = objects(cluster)[BINDING].body["spec"]
    assert binding == {"policyName": NAME, "validationActions": [action]}


def test_c4_members_cannot_evict_pods_with_another_grace_period() -> None:
    # An Eviction has deleteOptions, and the API server evaluates no policy for the deletion itself.
    # Source: kubernetes v1.35.4 pkg/registry/core/pod/storage/eviction.go
    resources = {resource for _, names, _ in (*VIEW, *EDIT, *ADMIN) for resource in names}
    assert "pods/eviction" not in resources
