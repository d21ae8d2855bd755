"""Requests of pods with the defaults of the cluster, as the scheduler and Kueue count them."""

from typing import Any

import pytest

from gpuc.admission.mutating import admitted_pod, queued_pod
from gpuc.manifest.manifest import Body, Manifest
from gpuc.objects.object_set import ObjectSet
from gpuc.objects.pod_resources import pod_requests

NOTHING = ObjectSet([], is_complete=True)


def _objects(kind: str, body: Body, api: str = "v1", namespace: str = "a") -> ObjectSet:
    return ObjectSet([Manifest("f.yaml", (), api, kind, "main", body, namespace)], is_complete=True)


def _pod(*resources: Any, **fields: Any) -> Body:
    return {"containers": [{"name": f"c{n}", "resources": row} for n, row in enumerate(resources)], **fields}


def test_a_pod_limit_is_the_request_of_a_queued_job_but_not_of_a_created_pod() -> None:
    # A created pod requests what its containers request, if they request the resource (defaultPodRequests).
    pod = _pod({"requests": {"cpu": "1"}}, {}, resources={"limits": {"cpu": "4", "memory": "2Gi"}})
    assert pod_requests(admitted_pod(NOTHING, "a", pod)) == {"cpu": 1000, "memory": 2 * 2**30}
    assert pod_requests(queued_pod(NOTHING, "a", pod)) == {"cpu": 4000, "memory": 2 * 2**30}


def test_the_default_of_a_limit_range_comes_before_the_limit_only_in_a_queue() -> None:
    limits = [{"type": "Container", "default": {"cpu": "3"}, "defaultRequest": {"cpu": "100m"}}]
    objects, pod = _objects("LimitRange", {"spec": {"limits": limits}}), _pod({"limits": {"cpu": "2"}})
    assert pod_requests(admitted_pod(objects, "a", pod)) == {"cpu": 2000}
    assert pod_requests(queued_pod(objects, "a", pod)) == {"cpu": 100}
    assert pod_requests(queued_pod(objects, "b", pod)) == {"cpu": 2000}


@pytest.mark.parametrize("changed", [admitted_pod, queued_pod])
def test_the_overhead_of_a_runtime_class_counts(changed: Any) -> None:
    objects = _objects("RuntimeClass", {"overhead": {"podFixed": {"cpu": "250m"}}}, "node.k8s.io/v1", "")
    spec = changed(objects, "a", _pod({"requests": {"cpu": "1"}}, runtimeClassName="main"))
    assert pod_requests(spec) == {"cpu": 1250}


def test_a_device_of_the_complete_pod_does_not_count() -> None:
    pod = _pod({"requests": {"nvidia.com/gpu": "2"}}, resources={"requests": {"cpu": "1", "nvidia.com/gpu": "4"}})
    assert pod_requests(pod) == {"cpu": 1000, "nvidia.com/gpu": 2}


def test_each_quantity_is_rounded_up_to_thousandths_and_the_sum_to_units() -> None:
    small = {"requests": {"cpu": "100u", "memory": "100m"}}
    assert pod_requests(_pod(small, small, small)) == {"cpu": 3, "memory": 1}


def test_sidecars_run_beside_later_init_containers() -> None:
    sidecar = {"resources": {"requests": {"cpu": "1"}}, "restartPolicy": "Always"}
    init = [sidecar, {"resources": {"requests": {"cpu": "4"}}}]
    assert pod_requests(_pod({"requests": {"cpu": "2"}}, initContainers=init)) == {"cpu": 5000}
