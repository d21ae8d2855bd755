"""Impacts of a change on ResourceFlavors, and on the resources that queues can use."""

from collections.abc import Iterator
from typing import Any

from gpuc.cluster.pool_fields import TAINTS
from gpuc.diagnostics.words import kind_of
from gpuc.kubernetes.kueue import GROUP
from gpuc.objects.object_set import dig, grouped, items, pairs
from gpuc.plan.change import Change, Pair, changed
from gpuc.plan.impact import Impacts, Level, Prediction, impact, workloads_of
from gpuc.plan.quota_changes import GPU_PREFIXES, tree


@impact("IMP225", Level.DISRUPTS)
def flavor_changes(change: Change) -> Impacts:
    """The nodes of a flavor get another label or another taint."""
    has_taint = change.after.cluster is not None or any(pool.changes(*TAINTS) for pool in change.pools)
    for pair in change.pairs(GROUP, "ResourceFlavor"):
        old, new = pair.values("spec", "nodeTaints")
        texts = list(_flavor_texts(pair, has_taint=has_taint or old != new))
        if not pair.is_changed or pair.values("spec", "topologyName")[0] or not texts:
            continue
        details = (
            "pods of jobs that run have the old labels and tolerations; if such a pod is created again, for example "
            "because its node fails or expires, it stays pending",
            "Kueue evicts the workload when its pods were not ready for waitForPodsReady.recoveryTimeout, and admits "
            "it again with the new labels and tolerations",
        )
        places = (("spec", "nodeLabels"), ("spec", "tolerations"))
        paths = (field.path for place in places for field in pair.fields if field.is_below(*place))
        yield pair.raised(" and ".join(texts), next(paths, ("spec",)), details)


def _flavor_texts(pair: Pair, *, has_taint: bool) -> Iterator[str]:
    """Yields what changes for new pods. Without another taint, pods that run fit the nodes without new tolerations."""
    old, new = (value or {} for value in pair.values("spec", "nodeLabels"))
    if old != new:
        yield f"workloads select nodes with {_label_words(new)} instead of {_label_words(old)}"
    tolerations = [[_toleration(row) for _, row in items(rows)] for rows in pair.values("spec", "tolerations")]
    if has_taint and (added := [text for text in tolerations[1] if text not in tolerations[0]]):
        yield f"workloads that start tolerate {', '.join(added)}; workloads that run do not"


def _label_words(value: Any) -> str:
    return ", ".join(f"{key}={label}" for key, label in pairs(value)) or "any labels"


def _toleration(row: Any) -> str:
    key, value, effect = (dig(row, field) for field in ("key", "value", "effect"))
    return f"{key or 'all taints'}{f'={value}' if value else ''}{f':{effect}' if effect else ''}"


_FIELDS = {"nodeLabels": "node labels", "tolerations": "tolerations", "topologyName": "topology"}


@impact("IMP224", Level.DISRUPTS)
def flavor_immutable(change: Change) -> Impacts:
    """A flavor with a topology changes, which the API server refuses."""
    for pair in change.pairs(GROUP, "ResourceFlavor"):
        fields = [field for field in _FIELDS if pair.changes("spec", field)]
        if fields and pair.values("spec", "topologyName")[0]:
            names = " and ".join(_FIELDS[field] for field in fields)
            message = f"the API server refuses other {names} of its ResourceFlavor, because the flavor has a topology"
            details = (
                "Kueue goes on with the old flavor, and the sync of the Application fails until the change is reverted",
                "to make the change, add a pool under another name and let the old pool leave",
            )
            predicts = (Prediction(f"object ResourceFlavor {pair.name}", "refused"),)
            yield pair.raised(message, ("spec", fields[0]), details, predicts)


@impact("IMP240", Level.RESTRICTS)
def topology_added(change: Change) -> Impacts:
    """Kueue starts to place the workloads of a flavor by topology."""
    for topology in changed(change.pairs(GROUP, "ResourceFlavor"), ("spec", "topologyName")):
        if topology.after and not topology.before:
            details = (
                "workloads that run continue; the topology of the flavor cannot be changed or removed later, because "
                "the field is immutable",
            )
            effect = "it admits only pods that fit on nodes that run"
            yield topology.raised(f"Kueue places workloads by topology {topology.after}: {effect}", details)


@impact("IMP243", Level.RESTRICTS)
def resource_leaves_queue(change: Change) -> Impacts:
    """Queues no longer have a quota of a resource on any node pool, for example because their pools lose EFA."""
    kept = change.kept(GROUP, "ClusterQueue")
    for lost, queues in grouped(kept, lambda pair: _lost_resources(change, pair.name)).items():
        if not lost:
            continue
        names = list(dict.fromkeys(pair.element for pair in queues))  # several ClusterQueues can be one queue
        resources = " or ".join(lost)
        message = f"no workload that requests {resources} is admitted any more: no pool of the queue has a quota"
        raised = queues[0].raised(message, ("spec", "resourceGroups"), (), workloads_of("queue", names, "waiting"))
        yield raised._replace(subject=kind_of(names, "queue"))


def _lost_resources(change: Change, name: str) -> tuple[str, ...]:
    """Returns the resources other than GPUs that the resource groups of a ClusterQueue do not cover any more."""
    before, after = (dict.fromkeys(tree(state)[name].covered) for state in (change.before, change.after))
    return tuple(name for name in before if after and name not in after and not name.startswith(GPU_PREFIXES))
