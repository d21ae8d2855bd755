"""The Helm charts that a spec adds under `charts`, as components. gpuc knows only what the spec says about them."""

from collections.abc import Iterator
from functools import partial

from gpuc.catalog.records import Release
from gpuc.emit.component import CRD, Component
from gpuc.emit.component_facts import nothing
from gpuc.kubernetes.argocd import argocd_url
from gpuc.manifest.manifest import Artifact, Kind, Values
from gpuc.model import Cluster
from gpuc.spec.charts import Chart


def added_components(cluster: Cluster) -> dict[str, Component]:
    """Returns a component for each chart of the spec, by name, in the order of the spec."""
    return {name: _component(name, chart) for name, chart in cluster.spec.charts.items()}


def added_release(name: str, chart: Chart) -> Release:
    """Returns the chart, version and namespace of a chart that a spec adds."""
    return Release("", name, argocd_url(chart.repository), chart.chart, chart.version, chart.namespace, ())


def _component(name: str, chart: Chart) -> Component:
    cluster_kinds = _kinds(chart.kinds.cluster)
    return Component(
        name=name,
        title=f"chart {name}",
        section=("spec", "charts", name),
        wave=chart.wave,
        artifacts=partial(_values, name),
        is_needed=lambda cluster: True, may_need_refresh=False,
        # No label with which Gatekeeper ignores the namespace: the policies of gpuc select only namespaces of tenants,
        # and the label would also switch off policies of the fleet.
        namespace_labels={},
        # Argo CD tracks and prunes a CRD if its template has a namespace, and that deletes all objects of its kind.
        keeps_definitions=CRD in cluster_kinds,
        chart_cluster_kinds=cluster_kinds,
        chart_kinds=_kinds(chart.kinds.namespaced),
        cluster_kinds=(), kinds=(), folders=(), ignored=(), reasons={}, relied_defaults={}, ineffective={},
        ineffective_because="", monitor=None, alerts={}, alert_labels=lambda cluster: (),
        restarts=None, hashed_values={}, chart_labels=None, device_plugin=None, config_maps=(), ready_check=None,
        preparation=None, chapter=None, member_rights=(), auditor_rights=(), rehearsal=None,
        needs=nothing, calls=None,
    )  # fmt: skip


def _values(name: str, cluster: Cluster) -> Iterator[Artifact]:
    values = cluster.spec.charts[name].values
    yield Values(cluster.out(f"charts/{name}/values.yaml"), ("spec", "charts", name), name, values, has_schema=False)


def _kinds(names: list[str]) -> tuple[Kind, ...]:
    """Returns (API group, kind) for each text such as "apps/Deployment". "Service" is a kind of the core group."""
    pairs = (name.rpartition("/") for name in names)
    return tuple((group, kind) for group, _, kind in pairs)
