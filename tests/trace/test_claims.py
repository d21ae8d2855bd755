"""`gpuc trace` follows the PersistentVolumeClaims that controllers create for pods."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from gpuc.cli.main import main

CLASS: dict[str, Any] = {
    "apiVersion": "storage.k8s.io/v1",
    "kind": "StorageClass",
    "metadata": {"name": "gp3"},
    "provisioner": "ebs.csi.aws.com",
    "allowedTopologies": [
        {"matchLabelExpressions": [{"key": "topology.kubernetes.io/zone", "values": ["eu-west-1c"]}]}
    ],
}
CLAIM: dict[str, Any] = {
    "spec": {
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": "gp3",
        "resources": {"requests": {"storage": "10Gi"}},
    }
}
CONTAINER: dict[str, Any] = {
    "name": "main",
    "image": "busybox",
    "resources": {"requests": {"cpu": "1"}},
    "volumeMounts": [{"name": "data", "mountPath": "/data"}],
}
STATEFUL_SET: dict[str, Any] = {
    "apiVersion": "apps/v1",
    "kind": "StatefulSet",
    "metadata": {"name": "store", "namespace": "team"},
    "spec": {
        "replicas": 3,
        "serviceName": "store",
        "selector": {"matchLabels": {"app": "store"}},
        "template": {"metadata": {"labels": {"app": "store"}}, "spec": {"containers": [CONTAINER]}},
        "volumeClaimTemplates": [{"metadata": {"name": "data"}, **CLAIM}],
    },
}
VOLUME: dict[str, Any] = {"name": "data", "ephemeral": {"volumeClaimTemplate": CLAIM}}
JOB: dict[str, Any] = {
    "apiVersion": "batch/v1",
    "kind": "Job",
    "metadata": {"name": "run", "namespace": "team"},
    "spec": {
        "parallelism": 3,
        "completions": 3,
        "template": {"spec": {"restartPolicy": "Never", "volumes": [VOLUME], "containers": [CONTAINER]}},
    },
}
NODE_POOL: dict[str, Any] = {
    "apiVersion": "karpenter.sh/v1",
    "kind": "NodePool",
    "metadata": {"name": "web"},
    "spec": {
        "template": {
            "spec": {
                "nodeClassRef": {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "web"},
                "requirements": [
                    {"key": "node.kubernetes.io/instance-type", "operator": "In", "values": ["m7i.2xlarge"]},
                    {"key": "topology.kubernetes.io/zone", "operator": "In", "values": ["eu-west-1a"]},
                    {"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["on-demand"]},
                ],
            }
        }
    },
}
NODE_CLASS: dict[str, Any] = {
    "apiVersion": "karpenter.k8s.aws/v1",
    "kind": "EC2NodeClass",
    "metadata": {"name": "web"},
    "spec": {"role": "node", "amiSelectorTerms": [{"alias": "al2023@v20260815"}]},
}
NAMESPACE: dict[str, Any] = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team"}}


def namespaced(kind: str, spec: dict[str, Any]) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": kind, "metadata": {"name": "limits", "namespace": "team"}, "spec": spec}


@pytest.fixture
def report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    """Returns a function that traces a workload in a cluster with objects; the result is the exit code and the text."""
    monkeypatch.setenv("NO_COLOR", "1")

    def traced(workload: dict[str, Any], *objects: dict[str, Any]) -> tuple[int, str]:
        cluster, file = tmp_path / "cluster.yaml", tmp_path / "workload.yaml"
        cluster.write_text(yaml.safe_dump_all([NAMESPACE, NODE_POOL, NODE_CLASS, *objects]), encoding="utf-8")
        file.write_text(yaml.safe_dump(workload), encoding="utf-8")
        code = main(["trace", "-f", str(file), str(cluster)])
        return code, capsys.readouterr().out

    return traced


def default_class(**changes: Any) -> dict[str, Any]:
    return {key: value for key, value in {**CLASS, **changes}.items() if key != "allowedTopologies"}


@pytest.mark.parametrize("workload", [STATEFUL_SET, JOB], ids=["template", "ephemeral volume"])
def test_a_quota_counts_the_claims_of_all_pods(report: Any, workload: dict[str, Any]) -> None:
    quota = namespaced("ResourceQuota", {"hard": {"persistentvolumeclaims": "2"}})
    code, text = report(workload, default_class(), quota)
    assert code == 1
    assert "need 3 of persistentvolumeclaims; the quota of the namespace is 2, which is enough for 2 of 3" in text
    quota = namespaced("ResourceQuota", {"hard": {"requests.storage": "30Gi", "persistentvolumeclaims": "3"}})
    assert "need" not in report(workload, default_class(), quota)[1]


@pytest.mark.parametrize(
    ("workload", "field"),
    [
        (STATEFUL_SET, "spec.volumeClaimTemplates[0].spec.resources.requests.storage"),
        (JOB, "spec.template.spec.volumes[0].ephemeral.volumeClaimTemplate.spec.resources.requests.storage"),
    ],
    ids=["template", "ephemeral volume"],
)
def test_a_limit_range_bounds_the_storage_of_a_claim(report: Any, workload: dict[str, Any], field: str) -> None:
    limits = namespaced("LimitRange", {"limits": [{"type": "PersistentVolumeClaim", "max": {"storage": "5Gi"}}]})
    code, text = report(workload, default_class(), limits)
    assert code == 1
    assert "requests 10Gi storage; the maximum is 5Gi" in text
    assert field in text


@pytest.mark.parametrize("workload", [STATEFUL_SET, JOB], ids=["template", "ephemeral volume"])
def test_a_claim_needs_a_storage_class_of_the_input(report: Any, workload: dict[str, Any]) -> None:
    code, text = report(workload)
    assert code == 4
    assert "StorageClass gp3 of" in text
    assert "Result: not judged" in text
    assert "StorageClass" not in report(workload, default_class())[1]


def test_a_claim_without_a_class_gets_the_default_class(report: Any) -> None:
    claim = {"metadata": {"name": "data"}, "spec": {**CLAIM["spec"], "storageClassName": None}}
    workload = {**STATEFUL_SET, "spec": {**STATEFUL_SET["spec"], "volumeClaimTemplates": [claim]}}
    assert "the input has no default StorageClass" in report(workload, default_class())[1]
    annotations = {"storageclass.kubernetes.io/is-default-class": "true"}
    default = default_class(metadata={"name": "gp3", "annotations": annotations})
    assert "StorageClass" not in report(workload, default)[1]


@pytest.mark.parametrize("workload", [STATEFUL_SET, JOB], ids=["template", "ephemeral volume"])
def test_the_zones_of_a_storage_class_bound_the_nodes(report: Any, workload: dict[str, Any]) -> None:
    assert report(workload, default_class())[0] == 0
    assert "no NodePool of the input makes nodes for the pods" in report(workload, CLASS)[1]


def test_the_volumes_of_templates_are_volumes_of_the_pod(report: Any) -> None:
    code, text = report(STATEFUL_SET, default_class())
    assert "has no volume data" not in text
    assert code == 0, text
