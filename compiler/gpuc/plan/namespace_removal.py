"""What happens to the namespaces of tenants that Git does not contain any more."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gpuc.plan.change import Change, Pair
from gpuc.plan.impact import Prediction
from gpuc.plan.pruning import is_left
from gpuc.plan.queue_usage import named


def left(change: Change, removed: Sequence[Pair]) -> list[Pair]:
    """Returns the removed namespaces that Argo CD leaves in the cluster. It deletes the others."""
    return [pair for pair in removed if is_left(change, pair.manifest)]


def has_left(change: Change, removed: Sequence[Pair]) -> bool:
    """Returns whether removed namespaces, or their tenant, have left in an earlier change."""
    spec = change.before.cluster
    leaving = {
        namespace.name
        for tenant, namespace in (spec.namespaces if spec else ())
        if tenant.spec.leaving or namespace.spec.leaving
    }
    return all(pair.name in leaving for pair in removed)


def removal_details(names: Sequence[str]) -> Iterator[str]:
    """Yields sentences about namespaces that Argo CD leaves in the cluster."""
    yield f"Argo CD leaves {', '.join(names)} in the cluster, with all pods, ResourceQuotas and volumes"
    yield f"when their work has ended, delete them with kubectl delete namespace {' '.join(names)}"


def workloads_in(change: Change, removed: Sequence[Pair]) -> Iterator[str]:
    """Yields a sentence about the objects of --workloads in removed namespaces."""
    names = {pair.name for pair in removed}
    found = [one for one in change.workloads if one.namespace in names]
    if found:
        yield f"objects of --workloads in the namespaces: {named(found)}"


def removal_predictions(change: Change, removed: Sequence[Pair]) -> tuple[Prediction, ...]:
    """Returns that new workloads are refused in removed namespaces that stay in the cluster."""
    names = [pair.name for pair in removed if loses_members(change, pair.name)]
    return tuple(Prediction(f"workloads of namespace {name}", "refused") for name in names)


def access_text(change: Change, removed: Sequence[Pair]) -> str:
    """Returns what happens to the access of members to removed namespaces that stay in the cluster."""
    if any(loses_members(change, pair.name) for pair in removed):
        return "members lose access, and no new workload starts"
    return "its roles stay too, and members keep their access until an administrator deletes the objects"


def loses_members(change: Change, namespace: str) -> bool:
    """Returns whether Argo CD removes a RoleBinding of a namespace, so that members cannot create workloads."""
    return any(
        pair.is_removed and pair.manifest.namespace == namespace and not is_left(change, pair.manifest)
        for pair in change.pairs("rbac.authorization.k8s.io", "RoleBinding")
    )
