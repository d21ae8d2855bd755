"""Annotations for Argo CD: the sync wave of an object, and its protection against deletion."""

from gpuc.kubernetes.argocd import COMPARE, OPTIONS, WAVE
from gpuc.model import Cluster

_PRUNE = {"never": "Delete=false,Prune=false", "confirm": "Delete=confirm,Prune=false", "automatic": ""}


def wave(number: int) -> dict[str, str]:
    """Returns the annotation for the sync wave of an object. Argo CD applies objects with lower numbers first."""
    return {WAVE: str(number)}


def protected(cluster: Cluster, number: int) -> dict[str, str]:
    """Returns the annotations of an object that Argo CD does not prune: the sync wave, and options of Argo CD.

    The options depend on `delivery.prune`. After a commit removes the object from Git, the Application is still Synced.
    Pruning would wait for a confirmation or a finalizer, and would block all other changes of the Application. Argo CD
    reads the annotations of the object in the cluster, so they also apply after the removal from Git.

    Source: Argo CD documentation, sync options and compare options
    """
    options = _PRUNE[cluster.spec.delivery.prune]
    return wave(number) | ({COMPARE: "IgnoreExtraneous", OPTIONS: options} if options else {})


def prunable(cluster: Cluster, number: int) -> dict[str, str]:
    """Returns the annotations of an object that Argo CD may prune, but must not prune with `delivery.prune: never`.

    With `delivery.prune: confirm`, the deletion of the complete Application still waits for a confirmation.
    """
    if cluster.spec.delivery.prune == "never":
        return protected(cluster, number)
    return wave(number) | ({OPTIONS: "Delete=confirm"} if cluster.spec.delivery.prune == "confirm" else {})


def protected_until_leaving(cluster: Cluster, number: int, *, leaving: bool) -> dict[str, str]:
    """Returns the annotations of an object that Argo CD may prune only if its element in the spec has `leaving: true`.

    Use this function for objects without a finalizer, because their deletion does not block the Application. With
    `delivery.prune: never`, Argo CD never prunes the object.
    """
    if leaving and cluster.spec.delivery.prune == "confirm":
        return wave(number)
    return protected(cluster, number)
