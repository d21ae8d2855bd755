"""The evaluator of objects on the requests that the model and real programs answer."""

from __future__ import annotations

from gpuc.kubernetes.amounts import texts
from gpuc.kubernetes.kueue import LEVEL_LABELS, REQUIRED_TOPOLOGY
from gpuc.model.names import POOL_LABEL
from gpuc.objects.object_set import ObjectSet
from gpuc.pipeline.stages import CompiledSpec
from gpuc.rehearse.fabric import BLOCK_NODES
from gpuc.rehearse.outcome import Outcome, Request
from gpuc.trace import ClusterIndex, PodSet, TraceResult, Workload


def site(spec: CompiledSpec) -> ClusterIndex:
    """The objects of a spec as the evaluator looks things up in them."""
    return ClusterIndex(ObjectSet(spec.synced, is_complete=True), {LEVEL_LABELS["block"]: BLOCK_NODES})


def work_for(known: ClusterIndex, queue: str, request: Request) -> Workload:
    """A request as a Job in the first namespace of a ClusterQueue."""
    quantities = texts(request.pod)
    container = {"name": "work", "resources": {"requests": quantities, "limits": quantities}}
    pod = {"containers": [container], **({"nodeSelector": {POOL_LABEL: request.pool}} if request.pool else {})}
    annotations = {REQUIRED_TOPOLOGY: LEVEL_LABELS["block"]} if request.one_block else {}
    local = known.local_queues[queue][0]
    return Workload((PodSet(pod, request.pods, annotations=annotations),), local.namespace, local.name)


def contradiction(seen: Outcome, walked: TraceResult, *, on_nodes: bool) -> str:
    """Where a walk is not what real programs did in an empty cluster; empty where it is.

    Args:
        on_nodes: whether the work went on to nodes; else only Kueue was asked.
    """
    place = walked.placements.get("main")
    flavors = place.flavors if place else ()
    if seen.verdict == "refused":
        same = walked.verdict == "refused" and walked.by == seen.by
    elif not on_nodes:
        same = walked.verdict != "refused" and flavors == (seen.flavor,)
    elif seen.verdict == "pending":
        same = (walked.verdict, walked.by, flavors) == ("pending", seen.by, (seen.flavor,))
    else:
        same = place is not None and walked.verdict == "admitted" and place.pools == (seen.pool,)
        same = same and set(seen.instance_types) <= set(place.instance_types if place else ())
        same = same and (place is None or place.nodes in (None, seen.nodes))
    told = walked.failure.message if walked.failure else ""
    return "" if same else f"the evaluator says {walked.verdict} {walked.by} {flavors} {place} {told}"
