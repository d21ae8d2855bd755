"""Runs `gpuc trace` for requests whose outcome the model and real programs also determine."""

from __future__ import annotations

from gpuc.kubernetes.amounts import texts
from gpuc.kubernetes.kueue import REQUIRED_TOPOLOGY, level_label
from gpuc.model.names import POOL_LABEL
from gpuc.objects.object_set import ObjectSet, dig, items
from gpuc.pipeline.stages import CompiledSpec
from gpuc.rehearse.outcome import Outcome, Request
from gpuc.rehearse.topology_labels import BLOCK_NODES
from gpuc.trace import ClusterIndex, TraceResult, Workload
from gpuc.trace.described import described_workload
from gpuc.trace.node_agents import node_agents

BLOCK_LABELS = (level_label("block", 3), level_label("block", 4))


def site(spec: CompiledSpec) -> ClusterIndex:
    """Returns the objects of a spec in the index that the trace reads."""
    manifests = [*spec.synced, *node_agents(spec.cluster)]
    return ClusterIndex(ObjectSet(manifests, is_complete=True), dict.fromkeys(BLOCK_LABELS, BLOCK_NODES))


def work_for(known: ClusterIndex, queue: str, request: Request) -> Workload:
    """A request as a Job in the first namespace of a ClusterQueue."""
    annotations = {REQUIRED_TOPOLOGY: _block_label(known, request.pool)} if request.one_block else {}
    node_labels = {POOL_LABEL: request.pool} if request.pool else {}
    local = known.queues.local_queues[queue][0]
    return described_workload(
        known, local.namespace, local.name, texts(request.pod), node_labels, pods=request.pods, annotations=annotations
    )


def _block_label(known: ClusterIndex, pool: str) -> str:
    """The node label of the block in the Topology of a pool's flavor."""
    flavor = known.objects.find("kueue.x-k8s.io", "ResourceFlavor", pool)
    topology = known.objects.find(
        "kueue.x-k8s.io", "Topology", str(dig(flavor and flavor.body, "spec", "topologyName"))
    )
    labels = [str(dig(level, "nodeLabel")) for _, level in items(dig(topology and topology.body, "spec", "levels"))]
    return next((label for label in labels if label in BLOCK_LABELS), BLOCK_LABELS[0])


def contradiction(actual: Outcome, trace: TraceResult, *, on_nodes: bool) -> str:
    """The difference between a trace and the real programs in an empty cluster; empty if they agree.

    Args:
        on_nodes: whether the pods were also scheduled; otherwise only Kueue decided.
    """
    place = trace.placements.get("main")
    flavors = place.flavors if place else ()
    if actual.verdict == "refused":
        same = trace.verdict == "refused" and trace.by == actual.by
    elif not on_nodes:
        same = trace.verdict != "refused" and flavors == (actual.flavor,)
    elif actual.verdict == "pending":
        same = (trace.verdict, trace.by, flavors) == ("pending", actual.by, (actual.flavor,))
    else:
        same = place is not None and trace.verdict == "admitted" and place.pools == (actual.pool,)
        same = same and set(actual.instance_types) <= set(place.instance_types if place else ())
        same = same and (place is None or place.nodes in (None, actual.nodes))
    reason = trace.failure.message if trace.failure else ""
    return "" if same else f"trace: {trace.verdict} {trace.by} {flavors} {place} {reason}"
