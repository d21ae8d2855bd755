"""Annotations that tell Argo CD when an object is applied and whether it may be removed."""

from __future__ import annotations

from gpuc.kubernetes.argocd import COMPARE, OPTIONS, WAVE
from gpuc.model import Cluster

_PRUNE = {"never": "Delete=false,Prune=false", "confirm": "Delete=confirm,Prune=false", "automatic": ""}


def wave(number: int) -> dict[str, str]:
    """The annotation that applies an object in the given wave of its Application; waves go from low to high."""
    return {WAVE: str(number)}


def kept(cluster: Cluster, number: int) -> dict[str, str]:
    """Annotations of an object that people delete: a wave, and the protection that `delivery.prune` asks for.

    Argo CD does not prune the object, and does not count it as a difference once Git lacks it: a prune that waits for
    a person, or for a finalizer, would hold up every other change of the same Application. The live object carries
    the annotations itself, so they also hold in the commit that takes it out of Git.

    Source: Argo CD documentation, sync options and compare options
    """
    options = _PRUNE[cluster.spec.delivery.prune]
    return wave(number) | ({COMPARE: "IgnoreExtraneous", OPTIONS: options} if options else {})


def kept_until_leaving(cluster: Cluster, number: int, *, leaving: bool) -> dict[str, str]:
    """Annotations of an object that Argo CD may prune once the spec has marked its element as leaving.

    For objects that no finalizer holds: nothing waits for the end of their deletion. With `prune: never` the
    protection stays.
    """
    if leaving and cluster.spec.delivery.prune == "confirm":
        return wave(number)
    return kept(cluster, number)
