from collections.abc import Iterator
from typing import Any

from gpuc.kubernetes.kueue import GROUP
from gpuc.objects.object_set import dig, items, pairs
from gpuc.plan.change import Change, Pair
from gpuc.plan.impact import Impacts, Level, Raised, impact
from gpuc.plan.quota_changes import flavor_text


@impact(
    "IMP225",
    Level.DISRUPTS,
    source="kueue v0.19.2 pkg/podset/podset.go, FromAssignment; pkg/controller/jobframework/reconciler.go, startJob",
)
def flavor_changes(change: Change) -> Impacts:
    """The nodes of a flavor get another label or another taint.

    Kueue writes the node labels and the tolerations of a flavor into a job when it starts the job. Jobs that run keep
    the old ones: a pod that is created again does not match or tolerate the new nodes, and stays pending.
    """
    for pair in change.pairs(GROUP, "ResourceFlavor"):
        before, _ = pair.values("spec", "topologyName")
        texts = list(_texts(pair))
        if not pair.is_changed or before or not texts:
            continue
        details = (
            "pods of jobs that run have the old labels and tolerations; if such a pod is created again, for example "
            "because its node fails or expires, it stays pending",
            "Kueue evicts the workload when its pods were not ready for waitForPodsReady.recoveryTimeout, and admits "
            "it again with the new labels and tolerations",
        )
        places = (("spec", "nodeLabels"), ("spec", "tolerations"))
        paths = (field.path for place in places for field in pair.fields if field.is_below(*place))
        yield Raised(flavor_text(change, pair.name), " and ".join(texts), pair.after, next(paths, ("spec",)), details)


def _texts(pair: Pair) -> Iterator[str]:
    old, new = pair.values("spec", "nodeLabels")
    if (old or {}) != (new or {}):
        yield f"workloads select nodes with {_labels(new)} instead of {_labels(old)}"
    added = [text for text in _tolerations(pair, 1) if text not in _tolerations(pair, 0)]
    if added and pair.is_changed:
        yield f"workloads that start tolerate {', '.join(added)}; workloads that run do not"


def _labels(value: Any) -> str:
    return ", ".join(f"{key}={label}" for key, label in pairs(value)) or "any labels"


def _tolerations(pair: Pair, state: int) -> list[str]:
    rows = [row for _, row in items(pair.values("spec", "tolerations")[state])]
    return [
        f"{dig(row, 'key') or 'all taints'}{'=' + str(dig(row, 'value')) if dig(row, 'value') else ''}"
        f"{':' + str(dig(row, 'effect')) if dig(row, 'effect') else ''}"
        for row in rows
    ]
