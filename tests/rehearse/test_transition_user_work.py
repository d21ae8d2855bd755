"""The work of users: objects as they were written, with the queue and the tenant of the spec."""

from __future__ import annotations

from typing import Any

from gpuc.model import Cluster
from gpuc.rehearse.transition.user_work import as_written, user_work

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
    own = user_work([JOB, SERVICE, REPLICA_SET], prod)
    (job,) = own.work
    assert (job.tenant, job.queue, job.pool, job.pods) == ("research", "research", "general", 2)
    assert own.others == (SERVICE,)


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
