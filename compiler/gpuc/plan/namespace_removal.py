"""What happens to the namespaces of tenants that Git does not contain any more."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gpuc.plan.change import Change, Pair
from gpuc.plan.impact import Prediction, Raised
from gpuc.plan.pruning import is_left
from gpuc.plan.queue_usage import users_text


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


def pruned_in_namespaces(change: Change, kind: str) -> Iterator[Pair]:
    """Yields the objects of a core kind that Argo CD deletes in namespaces that stay."""
    for pair in change.pairs("", kind):
        namespace = change.pair("", "Namespace", pair.manifest.namespace)
        if pair.is_removed and not (namespace and namespace.is_removed) and not is_left(change, pair.manifest):
            yield pair


def removal(change: Change, removed: Sequence[Pair], subject: str, message: str) -> Raised:
    """Returns an impact of the removal of namespaces that Argo CD leaves in the cluster."""
    names = [pair.name for pair in removed]
    closed = [name for name in names if _loses_members(change, name)]
    access = "its roles stay too, and members keep their access until an administrator deletes the objects"
    if closed:
        access = "members lose access, and no new workload starts"
    details = (
        f"Argo CD leaves {', '.join(names)} in the cluster, with all pods, ResourceQuotas and volumes",
        f"when their work has ended, delete them with kubectl delete namespace {' '.join(names)}",
        *workloads_in(change, removed),
    )
    predicts = tuple(Prediction(f"workloads of namespace {name}", "refused") for name in closed)
    return Raised(subject, f"{message}: {access}", removed[0].before, (), details, predicts)


def workloads_in(change: Change, removed: Sequence[Pair]) -> Iterator[str]:
    """Yields a sentence about the objects of --workloads in removed namespaces."""
    names = {pair.name for pair in removed}
    found = [manifest for manifest in change.workloads if manifest.namespace in names]
    yield from users_text("in the namespaces", found)


def _loses_members(change: Change, namespace: str) -> bool:
    """Returns whether Argo CD removes a RoleBinding of a namespace, so that members cannot create workloads."""
    return any(
        pair.is_removed and pair.manifest.namespace == namespace and not is_left(change, pair.manifest)
        for pair in change.pairs("rbac.authorization.k8s.io", "RoleBinding")
    )
