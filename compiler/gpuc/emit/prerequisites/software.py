"""Prerequisites that other teams provide: software, kinds and namespaces, among them Prometheus and Argo CD."""

from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct, field

from gpuc.catalog.records import Release
from gpuc.diagnostics.finding import Path
from gpuc.emit.alerts import metrics, node_labels
from gpuc.emit.component import Component, needed_components
from gpuc.emit.notify import secret_keys
from gpuc.emit.policy_facts import controllers
from gpuc.emit.prerequisites.record import Chapter, Row, written
from gpuc.kubernetes.api_groups import is_custom
from gpuc.kubernetes.argocd import argocd_url
from gpuc.kubernetes.controllers import user
from gpuc.manifest.manifest import Body, Values
from gpuc.model import Cluster
from gpuc.objects.object_set import group
from gpuc.parts.workload_kinds import installed_controllers
from gpuc.spec.platform import Observability

DELIVERY: Path = ("spec", "delivery")


class UnmanagedComponent(Struct, frozen=True):
    """A component that the cluster needs, but that another team installs."""

    release: Release
    """The chart, with the version and the namespace that gpuc expects."""
    file: str = ""
    """The path of the values relative to the README of the cluster; empty for a chart without values."""
    values: Mapping[str, str] = field(default_factory=dict)
    """Reasons by the path of a Helm value, or of a map with values, for example settings.clusterName."""


def prometheus(cluster: Cluster) -> Chapter:
    """Returns the README chapter about Prometheus: its operator, its selection of monitors, and kube-state-metrics."""
    settings = cluster.spec.observability
    if settings is None:
        return written(cluster, "prometheus", "Prometheus", ())
    used: set[str] = set().union(*metrics(cluster).values())
    state_metrics = sorted(metric for metric in used if metric.startswith("kube_"))
    section, labels = ("spec", "observability"), ",".join(node_labels(cluster))
    # The pods that scrape metrics have these labels; policies of tenants admit them.
    pods = ",".join(f"{key}={value}" for key, value in settings.prometheus.pods.items())
    namespace = settings.namespace
    more = {"more": " alertmanagerconfigs.monitoring.coreos.com", "count": "four"}
    rows: list[Row] = [
        ("definition/monitoring.coreos.com", section, more if settings.notify else {"more": "", "count": "three"}),
        ("namespace", (*section, "namespace"), {"name": namespace}),
        (
            "prometheus",
            (*section, "prometheus"),
            {"name": settings.prometheus.release, "namespace": namespace, "pods": pods},
        ),
        ("kube-state-metrics", section, {"labels": labels}),
        *_notify_rows(settings),
    ]
    return written(cluster, "prometheus", "Prometheus", rows, node_labels=labels, state_metrics=state_metrics)


def _notify_rows(settings: Observability) -> Iterator[Row]:
    """Yields the records about the Alertmanager, and about the Secrets that receivers read."""
    if settings.notify is None:
        return
    section, namespace = ("spec", "observability", "notify"), settings.namespace
    yield "alertmanager", section, {"name": namespace}
    for name, keys in secret_keys(settings).items():
        words = f"the key{'s' if len(keys) > 1 else ''} {' and '.join(keys)}"
        known = {"name": f"{namespace}/{name}", "secret": name, "namespace": namespace, "keys": words}
        yield "secret", (*section, "receivers"), known


def job_controllers(cluster: Cluster) -> Chapter:
    """Returns the README chapter about controllers of job kinds that neither Kubernetes nor a component has."""
    installed, brought = installed_controllers(), cluster.brought_controllers
    used = {name: installed[name].title for name in cluster.frameworks if name in installed and name not in brought}
    rows: list[Row] = []
    for name, title in used.items():
        api_group, singular = name.split("/")
        known = {"name": name, "title": title, "definition": f"{singular}s.{api_group}"}
        rows.append(("job-controller", ("spec", "kueue", "frameworks"), known))
    titles = list(dict.fromkeys(used.values()))
    users = [name for name in controllers(cluster)[1:] if name not in map(user, brought.values())]
    accounts = [name.removeprefix("system:serviceaccount:") for name in users]
    title = "Job controllers"
    return written(cluster, "job_controllers", title, rows, controllers=titles, accounts=accounts)


def other_teams(cluster: Cluster) -> Chapter:
    """Returns the README chapter about components that other teams install."""
    components = (component for component in needed_components(cluster) if not cluster.is_managed(component.name))
    unmanaged = [_unmanaged(cluster, component) for component in components]
    releases = [component.release for component in unmanaged]
    rows: list[Row] = [
        (
            "component",
            ("spec", "components", it.component),
            {"name": it.component, "chart": it.chart, "version": it.version, "namespace": it.namespace},
        )
        for it in releases
    ]
    return written(cluster, "other_teams", "Components of other teams", rows, unmanaged=unmanaged)


def definitions(cluster: Cluster) -> Chapter:
    """Returns the README chapter about CustomResourceDefinitions that manifests of users need and no component has."""
    brought = {name for release in cluster.components.values() for name in release.groups}
    groups = sorted({group(manifest) for manifest in cluster.user_manifests if is_custom(group(manifest))} - brought)
    rows: list[Row] = [("definition", ("spec",), {"name": name}) for name in groups]
    title, charts = "Definitions for the manifests", sorted(cluster.spec.charts)
    return written(cluster, "definitions", title, rows, groups=groups, charts=charts)


def claims(cluster: Cluster) -> Chapter:
    """Returns the README chapter about the PersistentVolumeClaims of training runtimes."""
    used = {
        (run.namespace.name, run.spec.checkpoints.claim): (*run.path, "checkpoints", "claim")
        for tenant in cluster.tenants
        for run in tenant.runs
        if run.spec.checkpoints
    }
    rows: list[Row] = [
        ("claim", path, {"name": f"{namespace}/{claim}", "namespace": namespace, "claim": claim})
        for (namespace, claim), path in used.items()
    ]
    return written(cluster, "claims", "Claims for checkpoints", rows)


def argocd(cluster: Cluster) -> Chapter:
    """Returns the README chapter about Argo CD: its health checks, repositories, and connection to the cluster."""
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


def _unmanaged(cluster: Cluster, component: Component) -> UnmanagedComponent:
    release = component.release(cluster)
    emitted = component.artifacts(cluster) if component.artifacts else ()
    values = next((artifact for artifact in emitted if isinstance(artifact, Values)), None)
    if values is None:
        return UnmanagedComponent(release)
    reasons = {path: reason for path, reason in component.reasons.items() if _has(values.body, path)}
    return UnmanagedComponent(release, values.file.removeprefix(cluster.entry("")), reasons)


def _has(body: Body, path: str) -> bool:
    """Returns whether Helm values contain a path."""
    value: Any = body
    for key in path.split("."):
        if not isinstance(value, dict) or key not in value:
            return False
        value = value[key]
    return True


def namespaces(cluster: Cluster) -> Chapter:
    """Returns the README chapter about namespaces of other teams whose pods connect to pods of tenants."""
    paths = {caller: tenant.path for tenant in cluster.tenants for caller in tenant.caller_namespaces}
    callers = sorted(paths)
    rows: list[Row] = [
        ("namespace", (*paths[name], "network", "ingress"), {"name": name, "all": " ".join(callers)})
        for name in callers
    ]
    return written(cluster, "namespaces", "Namespaces of other teams", rows, callers=callers)
