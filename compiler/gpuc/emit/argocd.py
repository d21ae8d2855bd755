"""Argo CD: one Application per chart and per synced folder, in waves, and the root that applies them."""

from __future__ import annotations

from collections.abc import Iterator

from gpuc.diagnostics.finding import Path
from gpuc.emit.bootstrap import entry
from gpuc.emit.component import Component, Folder, needed_components
from gpuc.emit.project import cluster_of, own_cluster, project
from gpuc.emit.sync import wave
from gpuc.manifest.manifest import Artifact, Body, Manifest
from gpuc.model import Cluster
from gpuc.model.cluster import ALWAYS_PLATFORM

API = "argoproj.io/v1alpha1"
ORIGIN: Path = ("spec", "delivery")

_ONLY_CHANGES = "ApplyOutOfSyncOnly=true"
_RETRY: Body = {
    "limit": -1,
    "refresh": True,
    "backoff": {"duration": "10s", "factor": 2, "maxDuration": "1m"},
}
"""A failed sync is tried again after 20 s, 40 s, and then every minute, each time with the newest commit.

A limit would end it for good: Argo CD never begins a commit a second time that has failed.

Source: argoproj/argo-cd v3.5.1 controller/appcontroller.go (processRequestedAppOperation, autoSync),
pkg/apis/application/v1alpha1/types.go (NextRetryAt)
"""
FOLDERS = (
    Folder("monitoring", 5, has_folders=True),
    Folder("tenants", 30, is_kept=True),
)
"""Synced folders that belong to no component."""


def argocd(cluster: Cluster) -> Iterator[Artifact]:
    """The AppProject, the Applications, and the cluster's entry: the root and what has to exist around it."""
    components = needed_components(cluster)
    yield project(cluster, components)
    for component in components:
        yield _chart(cluster, component)
    for folder in shipped_folders(cluster):
        yield _folder(cluster, folder)
    yield _root(cluster)
    yield from entry(cluster, tuple(component.release(cluster) for component in components))


def shipped_folders(cluster: Cluster) -> tuple[Folder, ...]:
    """The synced folders that the cluster's tree has, apps excepted, in sync order."""
    folders = [*FOLDERS, *(folder for component in needed_components(cluster) for folder in component.folders)]
    return tuple(sorted(folders, key=lambda folder: (folder.wave, folder.path)))


def _root(cluster: Cluster) -> Manifest:
    """Applied once by hand, and in nobody's folder: it owns the folder of the others."""
    source = {
        "repoURL": cluster.spec.delivery.repo,
        "targetRevision": cluster.spec.delivery.revision,
        "path": f"{cluster.spec.delivery.path}/{cluster.name}/apps",
    }
    # Applications live beside Argo CD, wherever their objects go. An Application that is pruned leaves its objects
    # alone: none has the finalizer that would delete them.
    destination = own_cluster(cluster.spec.delivery.destination.namespace)
    body = _spec(cluster, {"source": source}, destination, prune=True)
    # A sync that skips Applications which are as Git has them does not wait for their health either.
    body["spec"]["syncPolicy"]["syncOptions"].remove(_ONLY_CHANGES)
    return _application(cluster, cluster.entry("root.yaml"), "root", body)


def _chart(cluster: Cluster, component: Component) -> Manifest:
    """The chart, and from our repository the values that it is rendered with."""
    name, release = component.name, component.release(cluster)
    delivery = cluster.spec.delivery
    helm: Body = {"releaseName": release.chart}
    chart: Body = {
        "repoURL": release.repo,
        "chart": release.chart,
        "targetRevision": release.version,
        "helm": helm,
    }
    sources: Body = {"source": chart}
    if release.crds_from not in ("", name):
        helm["skipCrds"] = True
    if component.artifacts:
        helm["valueFiles"] = [f"$values/{delivery.path}/{cluster.name}/{name}/values.yaml"]
        values = {"repoURL": delivery.repo, "targetRevision": delivery.revision, "ref": "values"}
        sources = {"sources": [chart, values]}
    creates = release.namespace not in ALWAYS_PLATFORM and component.artifacts is not None
    destination = cluster_of(cluster, release.namespace)
    prune = not component.keeps_definitions
    body = _spec(cluster, sources, destination, prune=prune, ignored=component.ignored, creates=creates)
    if creates and component.namespace_labels:
        labels = dict(component.namespace_labels)
        body["spec"]["syncPolicy"]["managedNamespaceMetadata"] = {"labels": labels}
    return _application(cluster, cluster.out(f"apps/{name}.yaml"), name, body, component.wave)


def _folder(cluster: Cluster, folder: Folder) -> Manifest:
    name = folder.path.replace("/", "-")
    source: Body = {
        "repoURL": cluster.spec.delivery.repo,
        "targetRevision": cluster.spec.delivery.revision,
        "path": f"{cluster.spec.delivery.path}/{cluster.name}/{folder.path}",
    }
    if folder.has_folders:
        source["directory"] = {"recurse": True}
    namespace = cluster.components[folder.component].namespace if folder.component else "default"
    if folder.path == "monitoring":
        namespace = cluster.spec.observability.namespace
    # With "confirm" the objects that people delete carry that themselves.
    prune = not folder.is_kept or cluster.spec.delivery.prune != "never"
    destination = cluster_of(cluster, namespace)
    body = _spec(cluster, {"source": source}, destination, prune=prune, ignored=folder.ignored)
    if folder.is_kept:
        # Foreground deletion would hold the operation, and with it every other change, until the last node is gone.
        body["spec"]["syncPolicy"]["syncOptions"].append("PrunePropagationPolicy=background")
    return _application(cluster, cluster.out(f"apps/{name}.yaml"), name, body, folder.wave)


def _application(cluster: Cluster, file: str, name: str, body: Body, number: int | None = None) -> Manifest:
    return Manifest(
        file=file,
        origin=ORIGIN,
        api=API,
        kind="Application",
        name=f"{cluster.name}-{name}",
        namespace=cluster.spec.delivery.destination.namespace,
        annotations={} if number is None else wave(number),
        body=body,
    )


def _spec(
    cluster: Cluster, sources: Body, destination: Body, *, prune: bool, ignored: tuple[Body, ...] = (),
    creates: bool = False,
) -> Body:  # fmt: skip
    options = ["ServerSideApply=true", "RespectIgnoreDifferences=true", "FailOnSharedResource=true"]
    options += [_ONLY_CHANGES, f"CreateNamespace={str(creates).lower()}"]
    spec: Body = {
        "project": cluster.name,
        **sources,
        "destination": destination,
        "syncPolicy": {
            "automated": {"prune": prune, "selfHeal": True},
            "retry": _RETRY,
            "syncOptions": options,
        },
    }
    if ignored:
        spec["ignoreDifferences"] = list(ignored)
    return {"spec": spec}
