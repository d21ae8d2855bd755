"""Further charts: one Application with an AppProject of its own for each entry of `charts`."""

from __future__ import annotations

from collections.abc import Iterator

from gpuc.emit.added_charts import added_components, added_release
from gpuc.emit.argocd import chart_sources, delivered
from gpuc.emit.project import Delivered, Permitted
from gpuc.manifest.manifest import Artifact, Kind
from gpuc.model import Cluster

NAMESPACE: Kind = ("", "Namespace")


def charts(cluster: Cluster) -> Iterator[Artifact]:
    """Yields the Helm values, the AppProject and the Application of each further chart."""
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
