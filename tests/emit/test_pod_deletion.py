"""The limit of the grace period with which a member deletes a pod."""

from typing import Any

import pytest

from gpuc.components.gatekeeper.component import gatekeeper
from gpuc.emit.pod_deletion import NAME, pod_deletion
from gpuc.emit.roles import ADMIN, EDIT, VIEW
from gpuc.manifest.manifest import Body, Manifest
from gpuc.model import Cluster
from tests.conftest import EXAMPLES, Variant, example
from tests.policies.kubernetes_cel import Failed, Value, answer

POLICY, BINDING = "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"
LIMITS = {"research": 1800, "platform-ml": 600}
"""The limits of two tenants of prod-use1: a checkpoint interval, and the minimum."""


def objects(cluster: Cluster) -> dict[str, Manifest]:
    return {manifest.kind: manifest for manifest in pod_deletion(cluster, ("spec", "policies"), 5)}


def spec_of(cluster: Cluster) -> Body:
    spec: Body = objects(cluster)[POLICY].body["spec"]
    return spec


def is_allowed(tenant: str, requested: int | None, of_pod: int | None = 30) -> bool:
    """Returns the decision of the policy of prod-use1 about the deletion of a pod."""
    spec = spec_of(example("prod-use1"))
    options = {} if requested is None else {"gracePeriodSeconds": requested}
    pod = {} if of_pod is None else {"terminationGracePeriodSeconds": of_pod}
    known: dict[str, Any] = {}
    data = {
        "object": None,
        "oldObject": {"spec": pod},
        "request": {"operation": "DELETE", "options": options},
        "namespaceObject": {"metadata": {"labels": {"gpuc.dev/tenant": tenant}}},
        "variables": known,
    }
    for row in spec["variables"]:
        value = answer(row["expression"], data)
        assert isinstance(value, Value), value
        known[row["name"]] = value.value
    (validation,) = spec["validations"]
    message = answer(validation["messageExpression"], data)
    assert isinstance(message, Value) and f"at most {LIMITS[tenant]} seconds" in message.value
    verdict = answer(validation["expression"], data)
    assert not isinstance(verdict, Failed), verdict
    return bool(verdict.value)


@pytest.mark.parametrize(("tenant", "limit"), LIMITS.items())
def test_c4_a_deleted_pod_keeps_its_gpus_no_longer_than_the_limit_of_its_tenant(tenant: str, limit: int) -> None:
    assert is_allowed(tenant, limit)
    assert not is_allowed(tenant, limit + 1)
    assert not is_allowed(tenant, 31_536_000)


def test_c4_a_deletion_without_a_grace_period_and_a_forced_deletion_are_allowed() -> None:
    assert is_allowed("research", None)
    assert is_allowed("research", None, None)
    assert is_allowed("research", 0)
    assert is_allowed("research", -1)


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
