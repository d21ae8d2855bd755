"""Limits of a namespace for the pods that are created in the namespace."""

from __future__ import annotations

from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_set import ObjectSet
from gpuc.trace.cluster_index import ClusterIndex
from gpuc.trace.limits import namespace_steps
from gpuc.trace.workload import PodSet, Workload


def test_a_bound_below_zero_refuses_pods_that_ask_for_nothing_of_it() -> None:
    body = {"spec": {"hard": {"requests.hugepages-2Mi": "-1"}}}
    quota = Manifest("q.yaml", (), "v1", "ResourceQuota", "all", body, "a")
    work = Workload((PodSet({"containers": [{"name": "main"}]}, 1),), "a", "q")
    step = next(namespace_steps(ClusterIndex(ObjectSet([quota], is_complete=True)), work, [], {}))
    assert step.failed
    assert step.message == "the pods request 0 hugepages-2Mi; the quota of the namespace is -1"
