"""Limits of a namespace for the pods that are created in the namespace."""

from typing import Any

from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_set import ObjectSet
from gpuc.trace.admission_steps import limit_steps
from gpuc.trace.cluster_index import ClusterIndex
from gpuc.trace.workload import PodSet, Workload


def _cluster(kind: str, spec: Any) -> ClusterIndex:
    return ClusterIndex(ObjectSet([Manifest("q.yaml", (), "v1", kind, "all", {"spec": spec}, "a")], is_complete=True))


def _work(resources: Any, count: int = 1, copies: int = 1) -> Workload:
    pod = {"containers": [{"name": "main", "resources": resources}]}
    return Workload((PodSet(pod, count),), "a", "q", copies=copies)


def test_a_quota_does_not_refuse_pods_that_use_nothing_of_it() -> None:
    # The plugin removes zero usage before it compares: k8s.io/apiserver v0.35.4 resourcequota/controller.go.
    cluster = _cluster("ResourceQuota", {"hard": {"requests.hugepages-2Mi": "-1"}})
    assert [step.verdict for step in limit_steps(cluster, _work({}))] == ["passed"]


def test_c27_a_quota_of_limits_counts_limits() -> None:
    cluster = _cluster("ResourceQuota", {"hard": {"limits.cpu": "3"}})
    work = _work({"requests": {"cpu": "1"}, "limits": {"cpu": "2"}}, count=2)
    step = next(limit_steps(cluster, work))
    expected = "the pods need 4 of limits.cpu; the quota of the namespace is 3, which is enough for 1 of 2"
    assert (step.verdict, step.message) == ("failed", expected)
    assert step.path == ("spec", "hard", "limits.cpu")
