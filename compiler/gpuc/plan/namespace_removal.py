"""What happens to the namespaces of tenants that Git does not contain any more."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gpuc.plan.change import Change, Pair
from gpuc.plan.impact import Prediction
from gpuc.plan.pruning import is_left
from gpuc.plan.queue_usage import named


def removal_details(change: Change, removed: Sequence[Pair]) -> Iterator[str]:
    """Yields sentences about the namespaces that stay, those that Argo CD deletes, and running workloads."""
    left = [pair.name for pair in removed if is_left(pair.manifest)]
    deleted = [pair.name for pair in removed if not is_left(pair.manifest)]
    if left:
        yield (
            f"Argo CD leaves {', '.join(left)} in the cluster, with all pods, ResourceQuotas and volumes; pods that "
            "run continue"
        )
        yield f"when their work has ended, delete them with kubectl delete namespace {' '.join(left)}"
    if deleted:
        yield f"Argo CD deletes {', '.join(deleted)}, with all pods and PersistentVolumeClaims in them"


def workloads_in(change: Change, removed: Sequence[Pair]) -> Iterator[str]:
    """Yields a sentence about the objects of --workloads in removed namespaces."""
    names = {pair.name for pair in removed}
    found = [one for one in change.workloads if one.namespace in names]
    if found:
        yield f"objects of --workloads in the namespaces: {named(found)}"


def removal_predictions(change: Change, removed: Sequence[Pair]) -> tuple[Prediction, ...]:
    """Returns what happens to the workloads of removed namespaces."""
    found = []
    for pair in removed:
        if not is_left(pair.manifest):
            found.append(Prediction(f"workloads of namespace {pair.name}", "evicted"))
        elif _loses_members(change, pair.name):
            found.append(Prediction(f"workloads of namespace {pair.name}", "refused"))
    return tuple(found)


def _loses_members(change: Change, namespace: str) -> bool:
    """Returns whether Argo CD removes a RoleBinding of a namespace, so that members cannot create workloads."""
    return any(
        pair.is_removed and pair.manifest.namespace == namespace and not is_left(pair.manifest)
        for pair in change.pairs("rbac.authorization.k8s.io", "RoleBinding")
    )
