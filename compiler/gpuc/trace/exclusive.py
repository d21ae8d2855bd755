"""Exclusive placement of JobSet: every job of the JobSet gets a topology domain, such as a zone, for itself.

Source: sigs.k8s.io/jobset v0.12.0 pkg/webhooks/pod_webhook.go (setExclusiveAffinities, setNodeSelector),
pkg/controllers/jobset_controller.go
"""

from __future__ import annotations

from typing import Any

from gpuc.diagnostics.finding import Path
from gpuc.kubernetes.node_pool import HOSTNAME, ZONE, normal
from gpuc.objects.object_set import dig, items
from gpuc.trace.steps import Stage, Step
from gpuc.trace.workload import PodSet, Workload

_TOPOLOGY = "alpha.jobset.sigs.k8s.io/exclusive-topology"
_BY_NODE_SELECTOR = "alpha.jobset.sigs.k8s.io/node-selector"


def exclusive_step(workload: Workload, pods: PodSet) -> Step | None:
    """Returns a step with verdict "unknown" for exclusive placement that the trace does not evaluate; else None.

    A single job has no other job to avoid. Its pods need one zone, or one pod needs one node, which adds no limit.
    """
    if workload.kind != "JobSet":
        return None
    job: Path = pods.path[:3]
    for path in ((*job, "template", "metadata", "annotations"), ("metadata", "annotations")):
        annotations = dig(workload.document, *path)
        if (key := dig(annotations, _TOPOLOGY)) is None:
            continue
        is_judged = normal(str(key)) == ZONE or (normal(str(key)) == HOSTNAME and pods.count == 1)
        if is_judged and _number_of_jobs(workload.document) == 1 and dig(annotations, _BY_NODE_SELECTOR) is None:
            continue
        message = f"the trace does not evaluate exclusive placement: every job of the JobSet needs its own {key}"
        return Step(Stage.NODE, "unknown", message, pods=pods.name, field=(*path, _TOPOLOGY))
    return None


def _number_of_jobs(document: Any) -> int:
    replicas = (dig(job, "replicas") for _, job in items(dig(document, "spec", "replicatedJobs")))
    return sum(number if isinstance(number, int) else 1 for number in replicas)
