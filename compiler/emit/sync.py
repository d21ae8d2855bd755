"""Annotations that tell Argo CD when an object is applied and whether it may be removed."""

from __future__ import annotations

from compiler.model import Cluster

WAVE = "argocd.argoproj.io/sync-wave"
OPTIONS = "argocd.argoproj.io/sync-options"

_PRUNE = {"never": "Delete=false,Prune=false", "confirm": "Delete=confirm,Prune=confirm", "automatic": ""}


def wave(number: int) -> dict[str, str]:
    """The annotation that applies an object in the given wave of its Application; waves go from low to high."""
    return {WAVE: str(number)}


def kept(cluster: Cluster, number: int) -> dict[str, str]:
    """Annotations of capacity and tenants: a wave, and the protection that `delivery.prune` asks for.

    Pruning a NodePool drains all of its nodes at once; pruning a Namespace deletes a tenant's work.
    """
    options = _PRUNE[cluster.spec.delivery.prune]
    return wave(number) | ({OPTIONS: options} if options else {})
