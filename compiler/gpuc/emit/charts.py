"""Further charts: one Application with an AppProject of its own for each entry of `charts`."""

from __future__ import annotations

from collections.abc import Iterator

from gpuc.diagnostics.finding import Path
from gpuc.emit.argocd import chart_sources, delivered
from gpuc.emit.project import Delivered, Permitted
from gpuc.kubernetes.argocd import argocd_url
from gpuc.manifest.manifest import Artifact, Body, Kind, Values
from gpuc.model import Cluster
from gpuc.spec.charts import Chart

NAMESPACE: Kind = ("", "Namespace")


def charts(cluster: Cluster) -> Iterator[Artifact]:
    """Yields the Helm values, the AppProject and the Application of each further chart."""
    for name, chart in cluster.spec.charts.items():
        origin: Path = ("spec", "charts", name)
        yield Values(cluster.out(f"charts/{name}/values.yaml"), origin, name, chart.values, has_schema=False)
        creates_namespace = chart.namespace not in (*cluster.platform_namespaces, *cluster.tenant_namespaces)
        # Argo CD refuses to create the namespace of an Application whose AppProject does not permit the kind.
        own_kinds = frozenset({NAMESPACE}) if creates_namespace else frozenset()
        permitted = Permitted(
            repositories=frozenset({argocd_url(chart.repository), cluster.spec.delivery.repo}),
            namespaces=frozenset({chart.namespace, *chart.namespaces}),
            cluster_kinds=_kinds(chart.kinds.cluster) | own_kinds,
            kinds=_kinds(chart.kinds.namespaced),
        )
        item = Delivered(
            name=name,
            origin=origin,
            description=f"The chart {chart.chart} {chart.version} of {cluster.name}",
            sources=_sources(cluster, name, chart),
            namespace=chart.namespace,
            wave=chart.wave,
            # Argo CD tracks and prunes a CRD if its template has a namespace, and that deletes all objects of its kind.
            prune=("apiextensions.k8s.io", "CustomResourceDefinition") not in permitted.cluster_kinds,
            creates_namespace=creates_namespace,
        )
        yield from delivered(cluster, item, permitted)


def _sources(cluster: Cluster, name: str, chart: Chart) -> Body:
    """Returns the sources of the Application: the chart, and the repository with its values."""
    source: Body = {
        "repoURL": argocd_url(chart.repository),
        "chart": chart.chart,
        "targetRevision": chart.version,
        "helm": {"releaseName": name},
    }
    return chart_sources(cluster, source, f"charts/{name}")


def _kinds(names: list[str]) -> frozenset[Kind]:
    """Returns the API groups and kinds of names such as apps/Deployment, or Service for the core group."""
    pairs = (name.rpartition("/") for name in names)
    return frozenset((group, kind) for group, _, kind in pairs)
