"""The work of users: objects as they were written, with the queue and the tenant of the spec."""

import json
from pathlib import Path
from typing import Any

import pytest

from gpuc.cli.objects import loaded_workloads
from gpuc.model import Cluster
from gpuc_rehearsal.transition.filling import as_written, user_work

JOB: dict[str, Any] = {
    "apiVersion": "batch/v1",
    "kind": "Job",
    "metadata": {
        "name": "a",
        "namespace": "research-train",
        "labels": {"kueue.x-k8s.io/queue-name": "research-cpu"},
        "uid": "1",
        "resourceVersion": "7",
    },
    "spec": {
        "parallelism": 3,
        "completions": 2,
        "selector": {"matchLabels": {"batch.kubernetes.io/controller-uid": "1"}},
        "template": {
            "metadata": {"labels": {"job-name": "a", "app": "x"}},
            "spec": {"nodeSelector": {"gpuc.dev/pool": "general"}},
        },
    },
    "status": {"active": 2},
}
REPLICA_SET = {
    "apiVersion": "apps/v1",
    "kind": "ReplicaSet",
    "metadata": {
        "name": "c",
        "namespace": "search-train",
        "ownerReferences": [{"kind": "Deployment", "controller": True}],
    },
}
SERVICE = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "b", "namespace": "search-train"}}


def test_work_has_the_queue_the_tenant_and_the_pool_of_the_spec(prod: Cluster) -> None:
    work, others = user_work([JOB, SERVICE, REPLICA_SET], prod)
    (job,) = work
    assert (job.tenant, job.queue, job.pool, job.pods) == ("research", "research", "general", 2)
    assert others == [SERVICE]


def test_a_job_of_a_cluster_is_as_its_user_wrote_it() -> None:
    written = as_written(JOB)
    assert "status" not in written
    assert written["metadata"].keys() == {"name", "namespace", "labels"}
    assert "selector" not in written["spec"]
    assert written["spec"]["template"]["metadata"] == {
        "labels": {"app": "x"},
        "annotations": {"gpuc.dev/rehearsal": "hold"},
    }
    assert JOB["spec"]["selector"]


@pytest.mark.parametrize(
    "changed",
    [{"kind": "Job"}, {"kind": "Deployment"}, {"spec": "x"}, {"spec": {"replicas": "three"}}],
)
def test_work_that_is_not_valid_is_left_to_the_api_server(changed: dict[str, Any], prod: Cluster) -> None:
    document = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a"}, **changed}
    work, others = user_work([document], prod)
    assert work == []
    assert [document["metadata"]["name"] for document in others] == ["a"]


def test_a_template_of_pods_with_values_that_are_no_maps_is_read(prod: Cluster) -> None:
    pod = {"metadata": {"labels": 1, "annotations": None}, "spec": {"nodeSelector": []}}
    document = {**JOB, "metadata": {"name": "a", "labels": []}, "spec": {"template": pod}}
    (job,), _ = user_work([document], prod)
    assert (job.namespace, job.queue, job.pool, job.pods) == ("default", "", "", 1)


def test_objects_of_controllers_in_a_folder_are_left_out(tmp_path: Path, prod: Cluster) -> None:
    (tmp_path / "dump.json").write_text(
        json.dumps({"apiVersion": "v1", "kind": "List", "items": [SERVICE, REPLICA_SET]})
    )
    loaded = loaded_workloads(tmp_path)
    documents = [loaded.document(manifest) for manifest in loaded.manifests]
    assert [document["kind"] for document in documents] == ["Service", "ReplicaSet"]
    assert [document["kind"] for document in user_work(documents, prod)[1]] == ["Service"]
