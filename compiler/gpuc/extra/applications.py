"""Creates Argo CD Applications for the objects that users write: one for the platform, and one for each tenant."""

from collections.abc import Iterable, Iterator, Sequence

from gpuc.diagnostics.finding import Path
from gpuc.emit.argocd import delivered, folder_source
from gpuc.emit.project import Delivered, Permitted
from gpuc.extra.user_objects import FOLDER
from gpuc.manifest.manifest import Manifest
from gpuc.model import Cluster, Tenant
from gpuc.model.tenant_kinds import DENIED_KINDS
from gpuc.objects.object_set import group, grouped
from gpuc.spec.charts import LAST_WAVE


def applications(cluster: Cluster, manifests: Iterable[Manifest]) -> Iterator[Manifest]:
    """Yields an AppProject and an Application for each folder in out/<cluster>/extra/ that contains objects."""
    by_folder = grouped(manifests, lambda manifest: manifest.file.rpartition("/")[0])
    if objects := by_folder.get(cluster.out(FOLDER)):
        yield from _of_platform(cluster, objects)
    for tenant in cluster.tenants:
        if by_folder.get(cluster.out(f"{FOLDER}/{tenant.name}")):
            yield from _of_tenant(cluster, tenant)


def _of_platform(cluster: Cluster, objects: Sequence[Manifest]) -> Iterator[Manifest]:
    """Yields the AppProject and the Application of the platform, which permit exactly the kinds that the objects have.

    If the last object of a kind or namespace is removed, the AppProject no longer permits it. Argo CD then does not
    delete the object.
    """
    namespaces = frozenset(manifest.namespace for manifest in objects if manifest.namespace)
    permitted = Permitted(
        repositories=frozenset({cluster.spec.delivery.repo}),
        namespaces=namespaces,
        cluster_kinds=frozenset(_kind(manifest) for manifest in objects if not manifest.namespace),
        kinds=frozenset(_kind(manifest) for manifest in objects if manifest.namespace),
    )
    created = {manifest.name for manifest in objects if _kind(manifest) == ("", "Namespace")}
    charts = {chart.namespace for chart in cluster.spec.charts.values()}
    existing = {*cluster.platform_namespaces, *cluster.tenant_namespaces, *charts, *created}
    namespace = min(namespaces & existing, default="default")
    return _delivered(cluster, FOLDER, ("spec",), f"the platform team of {cluster.name}", namespace, permitted)


def _delivered(
    cluster: Cluster, folder: str, origin: Path, author: str, namespace: str, permitted: Permitted
) -> Iterator[Manifest]:
    item = Delivered(
        name=folder.replace("/", "-"),
        origin=origin,
        description=f"Objects that {author} wrote",
        sources={"source": folder_source(cluster, folder)},
        namespace=namespace,
        wave=LAST_WAVE,
        prune=cluster.spec.delivery.prune != "never",
    )
    return delivered(cluster, item, permitted)


def _of_tenant(cluster: Cluster, tenant: Tenant) -> Iterator[Manifest]:
    """Yields the AppProject and the Application of a tenant, which permit only the namespaces of the tenant."""
    namespaces = frozenset(namespace.name for namespace in tenant.namespaces)
    permitted = Permitted(
        repositories=frozenset({cluster.spec.delivery.repo}),
        namespaces=namespaces,
        cluster_kinds=frozenset(),
        kinds=None,
        denied=frozenset(DENIED_KINDS),
    )
    author = f"tenant {tenant.name} of {cluster.name}"
    return _delivered(cluster, f"{FOLDER}/{tenant.name}", tenant.path, author, min(namespaces), permitted)


def _kind(manifest: Manifest) -> tuple[str, str]:
    return group(manifest), manifest.kind
