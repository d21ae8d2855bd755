"""Annotations for Argo CD: the sync wave of an object, and the protection against its deletion."""

from __future__ import annotations

from gpuc.kubernetes.argocd import COMPARE, OPTIONS, WAVE
from gpuc.model import Cluster

_PRUNE = {"never": "Delete=false,Prune=false", "confirm": "Delete=confirm,Prune=false", "automatic": ""}


def wave(number: int) -> dict[str, str]:
    """Return the annotation for the sync wave. Argo CD applies objects with lower numbers first."""
    return {WAVE: str(number)}


def protected(cluster: Cluster, number: int) -> dict[str, str]:
    """Return the annotations of an object that only engineers may delete: wave, and protection as in `delivery.prune`.

    Argo CD does not prune the object, and does not report it as OutOfSync after its removal from Git. Pruning would
    wait for a person or a finalizer, and would block all other changes of the Application. Argo CD reads the
    annotations from the live object, so they are still effective in the commit that removes the object from Git.

    Source: Argo CD documentation, sync options and compare options
    """
    options = _PRUNE[cluster.spec.delivery.prune]
    return wave(number) | ({COMPARE: "IgnoreExtraneous", OPTIONS: options} if options else {})


def protected_until_leaving(cluster: Cluster, number: int, *, leaving: bool) -> dict[str, str]:
    """Return the annotations of an object that Argo CD may prune after its element in the spec is `leaving: true`.

    Use it for objects without a finalizer: their deletion does not block the Application. With `prune: never` the
    protection stays.
    """
    if leaving and cluster.spec.delivery.prune == "confirm":
        return wave(number)
    return protected(cluster, number)
