"""Argo CD Applications: one for each chart and each synced folder, and the root Application, which creates the others.

Each chart that the spec adds under `charts` has an Application with its own AppProject.
"""

from collections.abc import Iterator

from msgspec.structs import replace

from gpuc.catalog.records import Release
from gpuc.emit.added_charts import added_components, added_release
from gpuc.emit.bootstrap import ORIGIN, bootstrap
from gpuc.emit.component import Component, Folder, needed_components
from gpuc.emit.project import API, Delivered, Permitted, argocd_cluster, own_project, project, target_cluster
from gpuc.emit.substrate import substrate_output
from gpuc.emit.sync import wave
from gpuc.kubernetes.argocd import IGNORE_HEALTH
from gpuc.manifest.manifest import Artifact, Body, Kind, Manifest
from gpuc.model import Cluster
from gpuc.model.cluster import ALWAYS_PLATFORM

_ONLY_CHANGES = "ApplyOutOfSyncOnly=true"
_RETRY: Body = {
    "limit": -1,
    "refresh": True,
    "backoff": {"duration": "10s", "factor": 2, "maxDuration": "1m"},
}
"""Argo CD retries a failed sync after 20 s, after 40 s, and then every minute, with the newest commit.

There is no limit: after the last retry Argo CD would never sync the failed commit again.

Source: argoproj/argo-cd v3.5.1 controller/appcontroller.go (processRequestedAppOperation, autoSync),
pkg/apis/application/v1alpha1/types.go (NextRetryAt)
"""
MONITORING = Folder("monitoring", "monitoring", 5, has_subfolders=True)
TENANTS = Folder("tenants", "tenants", 30, is_protected=True)
"""Folders that Argo CD syncs and that do not belong to a component."""


def argocd(cluster: Cluster) -> Iterator[Artifact]:
    """Yields the AppProject, the Applications, the root Application, the README and the health checks of Argo CD."""
    components = needed_components(cluster)
    yield project(cluster, components)
    for component in components:
        if cluster.is_managed(component.name):
            yield _chart(cluster, component)
        for folder in component.folders:
            yield _folder(cluster, folder, component.release(cluster).namespace)
    own_folders = _own_folders(cluster)
    yield from (_folder(cluster, folder, namespace) for folder, namespace in own_folders)
    yield _root(cluster)
    yield from bootstrap(cluster, components, [folder for folder, _ in own_folders])


def _own_folders(cluster: Cluster) -> list[tuple[Folder, str]]:
    """Returns the folders that belong to no component. Each has the namespace for objects that name no namespace."""
    observability = cluster.spec.observability
    folders = [(folder, "default") for folder in substrate_output(cluster).folders]
    folders += [(MONITORING, observability.namespace)] if observability else []
    return [*folders, (TENANTS, "default")] if cluster.tenants or cluster.spec.auditors else folders


def delivered(cluster: Cluster, item: Delivered, permitted: Permitted) -> Iterator[Manifest]:
    """Yields the AppProject and the Application for objects or charts of users, both in the file apps/<name>.yaml.

    The root Application does not wait until this Application is healthy. If the cluster does not have a kind yet,
    because another chart defines the kind, only the objects of this kind wait: Argo CD applies the other objects, and
    tries again.
    """
    yield own_project(cluster, item, permitted)
    destination = target_cluster(cluster, item.namespace)
    body = _spec(cluster, item.sources, destination, prune=item.prune, creates_namespace=item.creates_namespace)
    body["spec"]["project"] = f"{cluster.name}-{item.name}"
    body["spec"]["syncPolicy"]["syncOptions"].append("SkipDryRunOnMissingResource=true")
    manifest = _application(cluster, cluster.out(f"apps/{item.name}.yaml"), item.name, body, item.wave)
    yield replace(manifest, origin=item.origin, annotations={IGNORE_HEALTH: "true", **manifest.annotations})


def folder_source(cluster: Cluster, folder: str) -> Body:
    """Returns the field `source` of an Application that syncs a folder below out/<cluster>/."""
    return {**_repository(cluster), "path": f"{cluster.spec.delivery.path}/{cluster.name}/{folder}"}


def chart_sources(cluster: Cluster, component: Component, release: Release, folder: str, name: str) -> Body:
    """Returns the field `sources` of the Application of a chart. The Helm values are in `delivery.repo`.

    Args:
        folder: the folder of the values below out/<cluster>/.
        name: the name of the Helm release.
    """
    helm: Body = {"releaseName": name}
    if release.crds_from not in ("", component.name):
        helm["skipCrds"] = True
    chart = {"repoURL": release.repo, "chart": release.chart, "targetRevision": release.version, "helm": helm}
    if component.artifacts is None:
        return {"source": chart}
    helm["valueFiles"] = [f"$values/{cluster.spec.delivery.path}/{cluster.name}/{folder}/values.yaml"]
    return {"sources": [chart, {**_repository(cluster), "ref": "values"}]}


def _repository(cluster: Cluster) -> Body:
    return {"repoURL": cluster.spec.delivery.repo, "targetRevision": cluster.spec.delivery.revision}


def _root(cluster: Cluster) -> Manifest:
    """Returns the root Application. An engineer applies it once. Then Argo CD applies all Applications in apps/.

    The root Application belongs to the AppProject. So the engineer applies the AppProject first. Argo CD syncs later
    changes of the AppProject.
    """
    # Applications are in the cluster of Argo CD, even if they deploy to another cluster. Pruning an Application does
    # not delete its objects, because no Application has the finalizer resources-finalizer.argocd.argoproj.io.
    destination = argocd_cluster(cluster.spec.delivery.destination.namespace)
    body = _spec(cluster, {"source": folder_source(cluster, "apps")}, destination, prune=True)
    # With ApplyOutOfSyncOnly, a sync would skip Applications that are in sync, and not wait until they are healthy.
    body["spec"]["syncPolicy"]["syncOptions"].remove(_ONLY_CHANGES)
    return _application(cluster, cluster.entry("root.yaml"), "root", body)


def _chart(cluster: Cluster, component: Component) -> Manifest:
    """Returns the Application of a component."""
    name, release = component.name, component.release(cluster)
    sources = chart_sources(cluster, component, release, name, release.chart)
    creates_namespace = release.namespace not in ALWAYS_PLATFORM and component.artifacts is not None
    destination = target_cluster(cluster, release.namespace)
    prune = not component.keeps_definitions
    body = _spec(
        cluster, sources, destination, prune=prune, ignored=component.ignored, creates_namespace=creates_namespace
    )
    if creates_namespace and component.namespace_labels:
        labels = dict(component.namespace_labels)
        body["spec"]["syncPolicy"]["managedNamespaceMetadata"] = {"labels": labels}
    return _application(cluster, cluster.out(f"apps/{name}.yaml"), name, body, component.wave)


def _folder(cluster: Cluster, folder: Folder, namespace: str) -> Manifest:
    name = folder.path.replace("/", "-")
    source = folder_source(cluster, folder.path)
    if folder.has_subfolders:
        source["directory"] = {"recurse": True}
    # With `prune: confirm`, the protected objects have an annotation that prevents pruning.
    prune = not folder.is_protected or cluster.spec.delivery.prune != "never"
    destination = target_cluster(cluster, namespace)
    body = _spec(cluster, {"source": source}, destination, prune=prune, ignored=folder.ignored)
    if folder.is_protected:
        # Foreground deletion would block the sync, and all other changes, until the last node is deleted.
        body["spec"]["syncPolicy"]["syncOptions"].append("PrunePropagationPolicy=background")
    return _application(cluster, cluster.out(f"apps/{name}.yaml"), name, body, folder.wave)


def _application(cluster: Cluster, file: str, name: str, body: Body, sync_wave: int | None = None) -> Manifest:
    name, namespace = f"{cluster.name}-{name}", cluster.spec.delivery.destination.namespace
    annotations = {} if sync_wave is None else wave(sync_wave)
    return Manifest(file, ORIGIN, API, "Application", name, body, namespace, annotations=annotations)


def _spec(
    cluster: Cluster, sources: Body, destination: Body, *, prune: bool, ignored: tuple[Body, ...] = (),
    creates_namespace: bool = False,
) -> Body:  # fmt: skip
    options = ["ServerSideApply=true", "RespectIgnoreDifferences=true", "FailOnSharedResource=true"]
    options += [_ONLY_CHANGES, f"CreateNamespace={str(creates_namespace).lower()}"]
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


NAMESPACE: Kind = ("", "Namespace")


def charts(cluster: Cluster) -> Iterator[Artifact]:
    """Yields the Helm values, the AppProject and the Application of each chart that the spec adds under `charts`."""
    for name, component in added_components(cluster).items():
        chart = cluster.spec.charts[name]
        release = added_release(name, chart)
        if component.artifacts:
            yield from component.artifacts(cluster)
        creates_namespace = chart.namespace not in (*cluster.platform_namespaces, *cluster.tenant_namespaces)
        # Argo CD refuses to create the namespace of an Application whose AppProject does not permit the kind.
        own_kinds = frozenset({NAMESPACE}) if creates_namespace else frozenset()
        permitted = Permitted(
            repositories=frozenset({release.repo, cluster.spec.delivery.repo}),
            namespaces=frozenset({chart.namespace, *chart.namespaces}),
            cluster_kinds=frozenset(component.chart_cluster_kinds) | own_kinds,
            kinds=frozenset(component.chart_kinds),
        )
        item = Delivered(
            name=name,
            origin=component.section,
            description=f"The chart {chart.chart} {chart.version} of {cluster.name}",
            sources=chart_sources(cluster, component, release, f"charts/{name}", name),
            namespace=chart.namespace,
            wave=component.wave,
            prune=not component.keeps_definitions,
            creates_namespace=creates_namespace,
        )
        yield from delivered(cluster, item, permitted)
