"""An Application with an AppProject of its own, for objects and charts that users add to a cluster.

The AppProject of the platform permits all kinds that gpuc emits, in all namespaces. Objects of users get only the kinds
and namespaces that the fleet declares for them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from gpuc.diagnostics.finding import Path
from gpuc.emit.argocd import API, application
from gpuc.emit.project import target_cluster
from gpuc.emit.sync import wave
from gpuc.manifest.manifest import Body, Kind, Manifest
from gpuc.model import Cluster

PROJECT_WAVE = -30


@dataclass(frozen=True, slots=True)
class Permitted:
    """What an AppProject permits."""

    repositories: frozenset[str]
    namespaces: frozenset[str]
    cluster_kinds: frozenset[Kind]
    """Cluster-scoped kinds, by API group and kind."""
    kinds: frozenset[Kind] | None
    """Namespaced kinds; None for all kinds that are not denied."""
    denied: frozenset[Kind] = frozenset()
    """Namespaced kinds that the AppProject denies."""


@dataclass(frozen=True, slots=True)
class Delivered:
    """An Application of users: what Argo CD applies, where and when."""

    name: str
    """The name of the Application and of the AppProject, without the name of the cluster."""
    origin: Path
    description: str
    sources: Body
    namespace: str
    """The namespace of the destination."""
    wave: int
    prune: bool
    creates_namespace: bool = False


def delivered(cluster: Cluster, item: Delivered, permitted: Permitted) -> Iterator[Manifest]:
    """Yields the AppProject and the Application, both in the file apps/<name>.yaml."""
    yield _project(cluster, item, permitted)
    yield application(
        cluster, item.name, item.origin, item.sources, target_cluster(cluster, item.namespace), item.wave,
        prune=item.prune, creates_namespace=item.creates_namespace,
    )  # fmt: skip


def _project(cluster: Cluster, item: Delivered, permitted: Permitted) -> Manifest:
    spec: Body = {
        "description": item.description,
        "sourceRepos": sorted(permitted.repositories),
        "destinations": [target_cluster(cluster, name) for name in sorted({item.namespace, *permitted.namespaces})],
        "clusterResourceWhitelist": _kinds(permitted.cluster_kinds),
    }
    if permitted.kinds:
        spec["namespaceResourceWhitelist"] = _kinds(permitted.kinds)
    denied = permitted.denied
    if permitted.kinds == frozenset():
        # An empty whitelist would permit all kinds after a program has written the AppProject again, because the field
        # has the JSON option omitempty: argo-cd v3.5.1 pkg/apis/application/v1alpha1/types.go (AppProjectSpec).
        denied = frozenset({("*", "*")})
    if denied:
        spec["namespaceResourceBlacklist"] = _kinds(denied)
    return Manifest(
        file=cluster.out(f"apps/{item.name}.yaml"),
        origin=item.origin,
        api=API,
        kind="AppProject",
        name=f"{cluster.name}-{item.name}",
        namespace=cluster.spec.delivery.destination.namespace,
        annotations=wave(PROJECT_WAVE),
        body={"spec": spec},
    )


def _kinds(kinds: Iterable[Kind]) -> list[Body]:
    return [{"group": group, "kind": kind} for group, kind in sorted(kinds)]
