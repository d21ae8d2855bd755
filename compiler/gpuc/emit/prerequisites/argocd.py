"""Argo CD: its health checks, its access to repositories, and its connection to the cluster."""

from __future__ import annotations

from gpuc.diagnostics.finding import Path
from gpuc.emit.component import needed_components
from gpuc.emit.prerequisites.record import Chapter, Row, written
from gpuc.kubernetes.argocd import argocd_url
from gpuc.model import Cluster

DELIVERY: Path = ("spec", "delivery")


def chapter(cluster: Cluster) -> Chapter:
    """Returns the chapter about Argo CD."""
    destination = cluster.spec.delivery.destination
    name = destination.server or destination.name or ""
    mirrors = _mirrors(cluster)
    # The repositories of charts and the repository of the output can need credentials.
    rows: list[Row] = [
        ("argocd", (*DELIVERY, "destination"), {"name": destination.namespace}),
        ("definition/argoproj.io", DELIVERY, {}),
        ("argocd-health-checks", DELIVERY, {}),
        ("repository", DELIVERY, {"name": cluster.spec.delivery.repo}),
        *(("repository", path, {"name": url}) for url, path in mirrors.items()),
    ]
    if not destination.is_own_cluster:
        rows.append(("argocd-cluster", (*DELIVERY, "destination"), {"name": name}))
    values = {
        "mirrors": list(mirrors),
        "destination": name,
        "helm_context": "" if destination.is_own_cluster else ' --kube-context "$HUB"',
    }
    return written(cluster, "argocd", "Argo CD", rows, **values)


def _mirrors(cluster: Cluster) -> dict[str, Path]:
    """Returns the repositories of charts that the release set does not name, with the spec path of each."""
    public = {release.repo for release in cluster.catalog.releases[cluster.spec.releases.set].values()}
    used: dict[str, Path] = {
        cluster.components[component.name].repo: ("spec", "components", component.name)
        for component in needed_components(cluster)
        if cluster.is_managed(component.name)
    }
    used |= {argocd_url(chart.repository): ("spec", "charts", name) for name, chart in cluster.spec.charts.items()}
    return {url: path for url, path in used.items() if url not in public}
