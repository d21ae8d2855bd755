"""`gpuc trace` follows the PersistentVolumeClaims that controllers create for pods."""

import copy
from collections.abc import Callable
from typing import Any

import pytest

from tests.tables import table
from tests.trace.conftest import Report

_TABLE = table(__file__, "claims.yaml")
CLASS, STATEFUL_SET, JOB = (_TABLE[name] for name in ("class", "template", "ephemeral volume"))
Claimed = Callable[..., tuple[int, str]]
each_workload = pytest.mark.parametrize("workload", [STATEFUL_SET, JOB], ids=["template", "ephemeral volume"])


def namespaced(kind: str, spec: dict[str, Any]) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": kind, "metadata": {"name": "limits", "namespace": "team"}, "spec": spec}


@pytest.fixture
def claimed(report: Report) -> Claimed:
    """The exit code and the text of a trace in the cluster of the table, with more objects."""
    return lambda workload, *objects: report(workload, where=[*_TABLE["cluster"], *objects])


def default_class(**changes: Any) -> dict[str, Any]:
    return {key: value for key, value in {**CLASS, **changes}.items() if key != "allowedTopologies"}


@each_workload
def test_a_quota_counts_the_claims_of_all_pods(claimed: Claimed, workload: dict[str, Any]) -> None:
    quota = namespaced("ResourceQuota", {"hard": {"persistentvolumeclaims": "2"}})
    code, text = claimed(workload, default_class(), quota)
    assert code == 1
    assert "need 3 of persistentvolumeclaims; the quota of the namespace is 2, which is enough for 2 of 3" in text
    quota = namespaced("ResourceQuota", {"hard": {"requests.storage": "30Gi", "persistentvolumeclaims": "3"}})
    assert "need" not in claimed(workload, default_class(), quota)[1]


@pytest.mark.parametrize(
    ("workload", "field"),
    [
        (STATEFUL_SET, "spec.volumeClaimTemplates[0].spec.resources.requests.storage"),
        (JOB, "spec.template.spec.volumes[0].ephemeral.volumeClaimTemplate.spec.resources.requests.storage"),
    ],
    ids=["template", "ephemeral volume"],
)
def test_a_limit_range_bounds_the_storage_of_a_claim(claimed: Claimed, workload: dict[str, Any], field: str) -> None:
    limits = namespaced("LimitRange", {"limits": [{"type": "PersistentVolumeClaim", "max": {"storage": "5Gi"}}]})
    code, text = claimed(workload, default_class(), limits)
    assert code == 1
    assert "requests 10Gi storage; the maximum is 5Gi" in text
    assert field in text


@each_workload
def test_a_claim_needs_a_storage_class_of_the_input(claimed: Claimed, workload: dict[str, Any]) -> None:
    code, text = claimed(workload)
    assert code == 4
    assert "StorageClass gp3 of" in text
    assert "Result: not judged" in text
    assert "StorageClass" not in claimed(workload, default_class())[1]


def test_a_claim_without_a_class_gets_the_default_class(claimed: Claimed) -> None:
    workload = copy.deepcopy(STATEFUL_SET)
    workload["spec"]["volumeClaimTemplates"][0]["spec"]["storageClassName"] = None
    assert "the input has no default StorageClass" in claimed(workload, default_class())[1]
    annotations = {"storageclass.kubernetes.io/is-default-class": "true"}
    default = default_class(metadata={"name": "gp3", "annotations": annotations})
    assert "StorageClass" not in claimed(workload, default)[1]


@each_workload
def test_the_zones_of_a_storage_class_bound_the_nodes(claimed: Claimed, workload: dict[str, Any]) -> None:
    code, text = claimed(workload, default_class())
    assert (code, "has no volume data" in text) == (0, False), text
    assert "no NodePool of the input makes nodes for the pods" in claimed(workload, CLASS)[1]
