"""Argo CD: its health checks, its access to repositories, and its connection to the cluster."""

from __future__ import annotations

from collections.abc import Iterator

from gpuc.diagnostics.finding import Path
from gpuc.emit.component import needed_components
from gpuc.emit.prerequisites.record import Chapter, Prerequisite, hub_kubectl
from gpuc.kubernetes.argocd import argocd_url
from gpuc.model import Cluster

DELIVERY: Path = ("spec", "delivery")


def chapter(cluster: Cluster) -> Chapter:
    """Returns the chapter about Argo CD."""
    destination = cluster.spec.delivery.destination
    values = {
        "mirrors": list(_mirrors(cluster)),
        "destination": destination.server or destination.name,
        "helm_context": "" if destination.is_own_cluster else ' --kube-context "$HUB"',
    }
    return Chapter("Argo CD", "argocd.md.j2", tuple(_prerequisites(cluster)), values)


def _prerequisites(cluster: Cluster) -> Iterator[Prerequisite]:
    delivery, program = cluster.spec.delivery, hub_kubectl(cluster)
    destination = delivery.destination
    namespace = destination.namespace
    yield Prerequisite(
        id=f"argocd/{namespace}",
        what=f"Argo CD 3.5 or later in namespace `{namespace}`",
        reason="Argo CD applies the output",
        checks=(f"{program} -n {namespace} get deployments -L app.kubernetes.io/version",),
        expected="version v3.5 or later",
        path=(*DELIVERY, "destination"),
    )
    yield Prerequisite(
        id="definition/argoproj.io",
        what="the definitions of Argo CD",
        reason="the AppProject and the Applications are of these kinds",
        checks=(f"{program} get crd applications.argoproj.io appprojects.argoproj.io",),
        expected="both definitions",
        path=DELIVERY,
    )
    checks = "-o jsonpath='{.data}' | grep -o 'resource.customizations[a-zA-Z0-9._-]*'"
    yield Prerequisite(
        id="argocd-health-checks",
        what=f"the health checks in `clusters/{cluster.name}/argocd-health.yaml`",
        reason="without the health checks, a sync wave does not wait until the previous wave works",
        checks=(f"{program} -n {namespace} get configmap argocd-cm {checks}",),
        expected="the keys of argocd-health.yaml",
        path=DELIVERY,
    )
    yield from _repositories(cluster)
    if not destination.is_own_cluster:
        yield Prerequisite(
            id=f"argocd-cluster/{destination.name or destination.server}",
            what=f"the cluster `{destination.name or destination.server}` in Argo CD",
            reason="without the cluster, no Application can sync",
            checks=("argocd cluster list",),
            expected=f"{destination.name or destination.server}",
            path=(*DELIVERY, "destination"),
        )


def _repositories(cluster: Cluster) -> Iterator[Prerequisite]:
    """Yields the repositories that can need credentials: that of the output, and those of charts."""
    delivery = cluster.spec.delivery
    command = f"{hub_kubectl(cluster)} -n {delivery.destination.namespace} get secrets"
    for url, path in {delivery.repo: DELIVERY, **_mirrors(cluster)}.items():
        yield Prerequisite(
            id=f"repository/{url}",
            what=f"access of Argo CD to {url}",
            reason="without credentials for a private repository, its Applications do not sync",
            checks=(f"{command} -l argocd.argoproj.io/secret-type=repository",),
            expected="a Secret with the credentials of the repository, if it is private",
            path=path,
        )


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
